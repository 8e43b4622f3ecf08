//! The configuration of a run in a cluster. The command line writes it into a ConfigMap, and the
//! aggregator reads it there (docs/configuration.md).
//!
//! The keys are Sonobuoy's, so each tool reads the other's files. Plumbline's own keys are in the
//! section `Plumbline`, which Sonobuoy ignores. As in Sonobuoy, keys match without regard to case,
//! and unknown keys have no effect. Some old files contain such keys.

mod choice;
mod error;
mod fields;
mod model;
mod own;
mod read;
mod storage;
mod toleration;

pub use choice::{NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, UnknownChoice};
pub use error::ConfigError;
pub use error::MAX_CONFIG_BYTES;
pub use model::{Config, Filters, PodLogLimits, QueryLimits, Selection, Server, default_image};
pub use own::{BundleSource, GracePeriods, MAX_BUNDLES, PlumblineConfig, RegistryAccess};
pub use storage::{Storage, StorageError};
pub use toleration::{Toleration, TolerationError};

#[cfg(test)]
mod tests;
