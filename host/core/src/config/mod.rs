//! The configuration of a run in a cluster. The command line writes it into a ConfigMap, and the
//! aggregator reads it there (docs/configuration.md).
//!
//! The keys are Sonobuoy's, so each tool reads the other's files. Plumbline's own keys are in the
//! section `Plumbline`, which Sonobuoy ignores. As in Sonobuoy, keys match without regard to case,
//! and unknown keys have no effect. Some old files contain such keys.

mod fields;
mod model;
mod read;
mod section;
mod values;

pub use fields::{ConfigError, MAX_CONFIG_BYTES};
pub use model::{Config, Filters, PodLogLimits, QueryLimits, Selection, Server, default_image};
pub use section::{BundleSource, GracePeriods, MAX_BUNDLES, PlumblineConfig, RegistryAccess, Telemetry};
pub use values::{
    NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, Storage, StorageError, Toleration,
    TolerationError, UnknownChoice,
};

#[cfg(test)]
mod tests;
