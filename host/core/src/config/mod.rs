//! The configuration of a run in a cluster: what the person's side writes into a ConfigMap and the aggregator reads there
//! (docs/configuration.md).
//!
//! The keys are Sonobuoy's, so its files are read here and ours there; our own keys stand in a section of their own, `Plumbline`,
//! which it ignores. Keys are matched without regard to case, as it does; keys that are not known have no effect (old files have some).

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
pub use own::{BundleSource, Graces, MAX_BUNDLES, Own, RegistryAccess};
pub use storage::{Storage, StorageError};
pub use toleration::{Toleration, TolerationError};

#[cfg(test)]
mod tests;
