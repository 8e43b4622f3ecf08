//! Surveys the cluster of a run: resources, host data, pod logs, versions and health.
//!
//! ```text
//! survey ─┬─ discovery ─▶ which resources there are
//!         ├─ kubelets ──▶ hosts/NODE/configz.json, healthz.json
//!         ├─ list ──────▶ store ─▶ resources/cluster/…, resources/ns/NAMESPACE/…
//!         ├─ podlogs ───▶ podlogs/NAMESPACE/POD/logs/CONTAINER.txt
//!         └─ record ────▶ meta/query-time.json      then  health ─▶ meta/clusterhealth.json
//! ```
//!
//! `fetch` sends all requests, within one rate limit. No failure is fatal: it is recorded, and the
//! rest continues.
//!
//! [`ObjectReader`] reads single objects and pages of lists for checks.

mod discovery;
mod fetch;
mod health;
mod kubelets;
mod list;
mod objects;
mod podlogs;
mod record;
mod selection;
mod store;
mod survey;

pub use objects::{ObjectReader, Objects};
pub use record::{Progress, QueryError, Summary, go_duration};
pub use survey::survey;

pub(crate) use fetch::Fetch;
pub(crate) use list::{Selection, collect};
