//! The built-in judges for lists and earlier results: known failures, flaky tests, allowed skips,
//! the failures of an earlier run, and reruns. One module has five names: `known-failures`,
//! `flaky`, `allowed-skips`, `baseline`, `reruns`. The entry of the chain selects one of them.
//!
//! | name | what it rules on | class | counts |
//! |---|---|---|---|
//! | `known-failures` | failures that are in its lists | `known-failure` | no |
//! | `flaky` | failures that are in its lists | `flaky` | no |
//! | both | failures whose entry has expired | `expired` | yes |
//! | `allowed-skips` | skipped items that are in its lists | `allowed-skip` | no |
//! | | other skipped items that the option `required` matches | `skip-not-allowed` | yes |
//! | `baseline` | failures that its option `failed` lists | `baseline-failure` | no |
//! | | other failures, unless the option `others` is `leave` | `new-failure` | yes |
//! | `reruns` | failures that passed when they were run again | `flaky` | no |
//! | | failures that failed again | `failed-again` | yes |
//!
//! A failure is a leaf that is `failed` or `timeout`. Items with a ruling of an earlier judge are
//! skipped. Names are compared without a leading `[It] ` and without surrounding white space. If
//! tests have classes (metadata `classname`), a name may end with the class in parentheses, as all
//! reports show it: `test_x (tests.test_a)`. A name without a class applies to the tests of all
//! classes.
//!
//! # Lists
//!
//! A file of `data` is a list in YAML or JSON. An entry is a name, or a mapping:
//!
//! ```yaml
//! - "[sig-apps] Deployment should …"        # quote names that start with `[`
//! - test: "[sig-network] Services should …" # exactly this name; or
//!   pattern: '^\[sig-storage\]'             # a regular expression that matches anywhere in the name
//!   reason: the cloud has no UDP load balancers
//!   source: https://example.org/issues/1
//!   until: 2027-03-31                       # the last day on which the entry applies
//! ```
//!
//! In place of `test` or `pattern`, an entry may have `cause`: the id of a cause, which the host adds
//! to failures as the metadata key `cause`.
//!
//! Errors in an entry are reported with their place, and the judge ends with an error. The other
//! entries still apply, but the plugin does not pass.
//!
//! # Dates
//!
//! A module has no clock. The option `today` sets the date. The host sets it to the day on which
//! the run started, so that an archive always gets the same verdict. A list that uses `until`
//! without `today` is an error.
//!
//! # Limits
//!
//! | what | limit |
//! |---|---|
//! | a list | 8 MiB |
//! | entries of all lists; patterns among them | 50,000; 1,000 |
//! | a pattern; its compiled form | 2,000 bytes; 1 MiB |
//! | the tree of a rerun | 64 MiB |
#![forbid(unsafe_code)]

mod date;
mod entry;
mod judge;
mod list;
mod options;
mod reruns;
mod rules;

use plumbline_judge_common::{name, pattern, problems, yaml};

pub use judge::Lists;
pub use list::{MAX_ENTRIES, MAX_LIST_BYTES, MAX_PATTERNS};
pub use reruns::MAX_TREE_BYTES;

plumbline_sdk::module! {
    name: "known-failures",
    formats: ["known-failures", "flaky", "allowed-skips", "baseline", "reruns"],
    default_files: [],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "today": { "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" },
            "required": { "type": "string", "maxLength": 2000 },
            "failed": { "type": "array", "maxItems": 10000, "items": { "type": "string" } },
            "source": { "type": "string", "maxLength": 2000 },
            "others": { "enum": ["new-failure", "leave"] }
        }
    },
    judge: Lists,
}
