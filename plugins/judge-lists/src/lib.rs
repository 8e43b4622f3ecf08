//! The built-in judge for lists: which failures are known, which tests are flaky, which may be skipped, what failed before, and what a rerun
//! says. One module under five names: `known-failures`, `flaky`, `allowed-skips`, `baseline`, `reruns`. The entry of the chain says which one
//! is meant.
//!
//! | name | what it rules on | class | counts |
//! |---|---|---|---|
//! | `known-failures` | failures that are in its lists | `known-failure` | no |
//! | `flaky` | failures that are in its lists | `flaky` | no |
//! | both | failures whose entry has expired | `expired` | yes |
//! | `allowed-skips` | skipped items that are in its lists | `allowed-skip` | no |
//! | | other skipped items, where the option `required` matches | `skip-not-allowed` | yes |
//! | `baseline` | failures that its option `failed` names | `baseline-failure` | no |
//! | | other failures, unless the option `others` is `leave` | `new-failure` | yes |
//! | `reruns` | failures that passed when they were run again | `flaky` | no |
//! | | failures that failed again | `failed-again` | yes |
//!
//! A failure is a leaf that is `failed` or `timeout`. An item on which an earlier judge of the chain ruled is left alone. Names are compared
//! without a leading `[It] ` and without blanks around them. If tests have classes (meta `classname`), a name may end with the class in
//! brackets, as every view shows it: `test_x (tests.test_a)`. A name without a class stands for the tests of all classes.
//!
//! # Lists
//!
//! A file of `data` is a list, in YAML or JSON. An entry is a name, or a mapping:
//!
//! ```yaml
//! - "[sig-apps] Deployment should …"        # names that begin with `[` stand in quotes
//! - test: "[sig-network] Services should …" # exactly this name; or
//!   pattern: '^\[sig-storage\]'             # a regular expression that matches somewhere in the name
//!   reason: the cloud has no UDP load balancers
//!   source: https://example.org/issues/1
//!   until: 2027-03-31                       # the last day on which the entry counts
//! ```
//!
//! What is wrong with an entry is said with its place, and the judge ends with an error: the other entries hold all the same, but the plugin
//! does not pass.
//!
//! # Days
//!
//! A module has no clock. The day is the option `today`, which the host sets to the day on which the run began, so that one archive is always judged alike. A
//! list that uses `until` without it is an error.
//!
//! # Bounds
//!
//! | what | at most |
//! |---|---|
//! | a list | 8 MiB |
//! | entries of all lists; of them patterns | 50,000; 1,000 |
//! | a pattern; what it is compiled to | 2,000 bytes; 1 MiB |
//! | the tree of a rerun | 64 MiB |
#![forbid(unsafe_code)]

mod baseline;
mod date;
mod entry;
mod judge;
mod list;
mod options;
mod reruns;
mod rules;
mod skips;

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
