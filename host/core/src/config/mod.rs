//! The configuration of a run in a cluster. The command line writes it into a ConfigMap, and the
//! aggregator reads it there (docs/configuration.md).
//!
//! The keys are Sonobuoy's, so each tool reads the other's files. Plumbline's own keys are in the
//! section `Plumbline`, which Sonobuoy ignores. As in Sonobuoy, keys match without regard to case,
//! and unknown keys have no effect. Some old files contain such keys.

mod model;
mod read;
mod values;

pub use model::{
    BundleSource, Config, Filters, GracePeriods, MAX_BUNDLES, PlumblineConfig, PodLogLimits, QueryLimits,
    RegistryAccess, Selection, Server, Telemetry, default_image,
};
pub use read::{ConfigError, MAX_CONFIG_BYTES};
pub use values::{
    NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, Storage, StorageError, Toleration,
    TolerationError, UnknownChoice,
};

#[cfg(test)]
mod tests;
