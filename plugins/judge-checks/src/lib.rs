//! The built-in judge `checks`: numbered requirements on a plugin's results, on the health of the
//! cluster, and on values in logs.
//!
//! A file of `data` is a list of checks in YAML or JSON. So is the option `checks`.
//!
//! ```yaml
//! - id: PODS-001
//!   name: nearly all pods are healthy
//!   healthy: pods                 # or `nodes`; `unhealthy: …` likewise
//!   want: ">= 98 %"
//! - id: TIME-001
//!   duration: max                 # of items that were not skipped: count, min, max, mean, last, p50, p90, p95, p99, or any other pNN
//!   matching: '\[Conformance\]'   # only items whose name matches; also with `items` and `class`
//!   want: "<= 10m"
//! - id: ITEMS-001
//!   items: [failed, timeout]      # items with one of these statuses
//!   want: "== 0"
//! - id: CLASS-001
//!   class: flaky                  # items with this class from an earlier judge; `failure`: failures without a ruling
//!   want: "<= 1 %"
//! - id: ETCD-001
//!   log:
//!     files: podlogs/kube-system/etcd-*/logs/*.txt
//!     pattern: '"took":"([^"]+)"' # with one group, which captures the value
//!     unit: duration              # the notation of the value; the default `duration` is that of Go, such as 123.4ms
//!     measure: p99                # as for `duration`
//!   want: "< 100ms"
//! ```
//!
//! `want` is an operator (`>=`, `<=`, `>`, `<`, `==`, `!=`) and a value: a number, a share (`98
//! %`), a duration (`1m30s`) or a size (`64 MiB`). With a number, the check compares the number of
//! pods or items. With a share, it compares their share of all.
//!
//! A check is `unknown`, with the reason, if its value is not available. The file may be missing,
//! no item may match the pattern or have a duration, or a captured text may not be a number. No
//! check passes because nothing was found, or because a part of the evidence is missing:
//! `meta/clusterhealth.json` lists nodes and pods that the survey could not read, and
//! `meta/query-time.json` logs. The latter says if the survey did not finish. Missing lines or logs
//! do not excuse a `count` or `max` that is above its limit without them. Errors in a check itself
//! are reported with their place, and the judge ends with an error. The other checks are still
//! evaluated, but the plugin does not pass.
//!
//! A class that is one letter away from a class of the built-in judges is an error. Any other class
//! may be that of another judge.
//!
//! `pNN` is the smallest value such that at least NN percent of the values are less than or equal
//! to it.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a file of checks | 1 MiB | an error |
//! | checks | 500 | an error |
//! | `meta/clusterhealth.json` | 64 MiB | its checks are `unknown` |
//! | `meta/query-time.json` | 64 MiB | checks of collected logs are `unknown` |
//! | a line of a log | 64 KiB | the check is `unknown`, unless the pattern matches before, whatever the rest is, or the check fails anyway |
//! | values of a percentile; of all checks | 1,000,000; 4,000,000 | the check is `unknown` |
#![forbid(unsafe_code)]

mod check;
mod evaluate;
mod files;
mod gaps;
mod glob;
mod health;
mod items;
mod judge;
mod logs;
mod needle;
mod quantity;
mod samples;
mod spec;
mod want;

use plumbline_judge_common::{name, pattern, problems, yaml};

pub use judge::Checks;
pub use logs::MAX_LINE;
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
