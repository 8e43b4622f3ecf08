//! Errors while building a manifest.

use plumbline_core::PluginName;
use plumbline_core::definition::DefinitionError;
use plumbline_core::size::Bytes;

use crate::chunks::{ChunkError, MAX_MODULES};
use crate::driver::DriverError;

/// Maximum size of the data in one ConfigMap: 900 KiB. The API server limits the whole object,
/// including keys and metadata, to 1 MiB.
pub const MAX_CONFIG_MAP_BYTES: usize = 900 << 10;

/// Error while building a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// An object name is invalid: what it names, the name, and its maximum length.
    #[error("{0} `{1}` is not a valid Kubernetes name: use lower-case letters, digits and `-`, at most {2} characters")]
    Name(&'static str, String, usize),
    /// The definitions conflict with each other, or one is invalid after its transforms.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A definition cannot be executed in a cluster.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A plugin has the driver `Process`, which does not run in a cluster.
    #[error("plugin `{0}` has the driver `Process`, which runs only on a machine: run it with `--local`")]
    Process(PluginName),
    /// A definition names this service account and also asks for permissions, which would apply to
    /// another account.
    #[error("plugin `{0}` names the service account `{1}` and has `plumbline.permissions`: remove one of the two")]
    PermissionsAndAccount(PluginName, String),
    /// The pod spec names the service account of another plugin, and would get its permissions.
    #[error(
        "plugin `{0}` names the service account `{1}`, which is that of plugin `{2}`: list what it needs under `plumbline.permissions`"
    )]
    AccountOfOther(PluginName, String, PluginName),
    /// A definition asks for permissions that the permission mode of the run does not create.
    #[error(
        "plugin `{0}` requests cluster permissions, but the mode `namespaceAdmin` creates roles only in its namespace: use the mode `minimal`"
    )]
    ClusterPermissions(PluginName),
    /// This image depends on the version of the cluster, which is unknown.
    #[error("the image of plugin `{0}` depends on the cluster's version, which is unknown: `{1}`")]
    NoVersion(PluginName, String),
    /// A field of a definition does not have the structure that Kubernetes requires: its path, and
    /// the expected type.
    #[error("plugin `{0}`: `{1}` must be {2}")]
    Shape(PluginName, String, &'static str),
    /// A definition or its files do not fit into a ConfigMap.
    #[error(
        "{what} of plugin `{plugin}` has {}, more than the limit of a ConfigMap, {}",
        Bytes(*.bytes as u64),
        Bytes(MAX_CONFIG_MAP_BYTES as u64)
    )]
    TooLarge {
        /// The oversized part.
        what: &'static str,
        /// The plugin.
        plugin: PluginName,
        /// Its size in bytes.
        bytes: usize,
    },
    /// A module does not fit into ConfigMaps.
    #[error(transparent)]
    Chunks(#[from] ChunkError),
    /// The run has too many modules.
    #[error("there are {0} modules: ConfigMaps carry at most {MAX_MODULES}")]
    TooManyModules(usize),
    /// The archive of a scheduled run would be lost with its pod.
    #[error("the archive of a scheduled run is lost with its pod: keep it on a volume, or upload it")]
    ScheduleWithoutStorage,
    /// Limits for archives are for those on a volume.
    #[error("limits for the archives of scheduled runs need a volume: other archives are lost with their pods")]
    KeepWithoutVolume,
    /// JSON serialization failed. This is not known to happen.
    #[error("failed to write the manifest: {0}")]
    Write(String),
}
