//! Surveys the cluster of a run: resources, host data, pod logs, versions and health.
//!
//! ```text
//! survey ─┬─ discovery ─▶ which resources there are
//!         ├─ hosts ─────▶ hosts/NODE/configz.json, healthz.json
//!         ├─ list ──────▶ page ─▶ store ─▶ resources/cluster/…, resources/ns/NAMESPACE/…
//!         ├─ podlogs ───▶ podlogs/NAMESPACE/POD/logs/CONTAINER.txt
//!         └─ record ────▶ meta/query-time.json      then  health ─▶ meta/clusterhealth.json
//! ```
//!
//! No failure is fatal: it is recorded, and the rest continues.

mod configured;
mod discovery;
mod fetch;
mod filter;
mod health;
mod hosts;
mod list;
mod log_scan;
mod node_list;
mod options;
mod page;
mod podlog_pods;
mod podlogs;
mod record;
mod safe;
mod scratch;
mod selector;
mod store;
mod survey;
mod throttle;

pub use health::{ClusterHealth, ErrorSummary, HealthGroup, HealthOf, assess};
pub use options::{PodLogOptions, QueryOptions};
pub use record::{Progress, QueryError, Summary};
pub use survey::{survey, survey_watched};

pub(crate) use fetch::Fetch;
pub(crate) use list::{Selection, Sink, list};
pub(crate) use safe::is_safe_name;
pub(crate) use throttle::Throttle;
