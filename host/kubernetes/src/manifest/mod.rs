//! Builds the initial objects of a run in a cluster as documents. `gen` prints them, and `run`
//! creates them.
//!
//! ```text
//! definitions ── prepare_definition ──▶ ManifestPlugin ─┐
//! configuration ────────────────────────────────────────┼─▶ manifest ──▶ objects in order ──▶ to_yaml
//! rbac::Needs ◀─ what the run needs ────────────────────┘
//! ```
//!
//! All functions are pure: nothing here sends a request to a cluster.

mod aggregator;
mod build;
mod cron_job;
mod error;
mod modules;
mod options;
mod prepare;
pub mod rbac;
mod yaml;

pub use build::{manifest, plugin_account};
pub use cron_job::START_PATIENCE;
pub use error::{MAX_CONFIG_MAP_BYTES, ManifestError};
pub use options::{DockerConfig, ManifestOptions, ManifestPlugin};
pub use prepare::{Transform, image_of_run, prepare_definition};
pub use yaml::{to_document, to_yaml};

pub use crate::driver::default_pod_spec;
pub use crate::parts::merged;
