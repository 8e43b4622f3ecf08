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

pub(crate) use aggregator::config_maps_volume;
pub use build::{manifest, plugin_account};
pub use error::{MAX_CONFIG_MAP_BYTES, MAX_MODULE_BYTES, ManifestError};
pub(crate) use modules::chunks_of;
pub use modules::{UnpackError, Unpacked, packed_bytes, unpack_modules};
pub use options::{DockerConfig, ManifestOptions, ManifestPlugin};
pub use prepare::{Transform, image_of_run, prepare_definition};
pub use yaml::{to_document, to_yaml};

pub use crate::driver::default_pod_spec;
pub use crate::parts::merged;
