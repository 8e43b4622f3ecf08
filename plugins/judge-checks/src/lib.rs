//! The built-in judge `checks`: numbered requirements on a plugin's results, on the health of the cluster, and on measures from logs.
//!
//! A file of `data` is a list of checks, in YAML or JSON; so is the option `checks`.
//!
//! ```yaml
//! - id: PODS-001
//!   name: nearly all pods are healthy
//!   healthy: pods                 # or `nodes`; `unhealthy: …` likewise
//!   want: ">= 98 %"
//! - id: TIME-001
//!   duration: max                 # of items that were not skipped: count, min, max, mean, last, p50, p90, p95, p99, or any other pNN
//!   matching: '\[Conformance\]'   # only items in whose name this matches; also with `items` and `class`
//!   want: "<= 10m"
//! - id: ITEMS-001
//!   items: [failed, timeout]      # items with one of these statuses
//!   want: "== 0"
//! - id: CLASS-001
//!   class: flaky                  # items of which an earlier judge said so; `failure`: failures of which none said anything
//!   want: "<= 1 %"
//! - id: ETCD-001
//!   log:
//!     files: podlogs/kube-system/etcd-*/logs/*.txt
//!     pattern: '"took":"([^"]+)"' # with one group, which captures what is measured
//!     unit: duration              # how it is written; without it `duration`: as Go does, such as 123.4ms
//!     measure: p99                # as with `duration`
//!   want: "< 100ms"
//! ```
//!
//! `want` is an operator (`>=`, `<=`, `>`, `<`, `==`, `!=`) and a value: a number, a share (`98 %`), a duration (`1m30s`), a size (`64 MiB`). Whether a number of
//! pods or items is compared, or their share of all, follows from it.
//!
//! A value that cannot be had makes a check `unknown`, with the reason: a file that is not there, a pattern that no item has, a captured text that is no
//! number. Nothing passes because nothing was found. What is wrong with a check itself is said with its place, and the judge ends with an
//! error: the other checks are made all the same, but the plugin does not pass.
//!
//! `pNN` is the smallest value that at least NN per cent of the values do not exceed.
//!
//! # Bounds
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | a file of checks | 1 MiB | an error |
//! | checks | 500 | the same |
//! | `meta/clusterhealth.json` | 64 MiB | its checks are `unknown` |
//! | a line of a log | 64 KiB | what follows in the line is not looked at |
//! | values of a percentile; of all checks | 1,000,000; 4,000,000 | the check is `unknown` |
#![forbid(unsafe_code)]

mod check;
mod evaluate;
mod files;
mod glob;
mod health;
mod items;
mod judge;
mod lines;
mod logs;
mod needle;
mod quantity;
mod samples;
mod spec;
mod want;

use plumbline_judge_common::{name, pattern, problems, yaml};

pub use judge::Checks;
pub use lines::MAX_LINE;
pub use spec::{MAX_CHECKS, MAX_FILE_BYTES};

plumbline_sdk::module! {
    name: "checks",
    formats: ["checks"],
    default_files: [],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "checks": { "type": "array", "maxItems": 500, "items": { "type": "object" } }
        }
    },
    judge: Checks,
}
