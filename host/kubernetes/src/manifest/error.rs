//! Errors while building a manifest.

use plumbline_core::PluginName;
use plumbline_core::definition::DefinitionError;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::size::Bytes;

use crate::driver::DriverError;

/// Maximum size of the data in one ConfigMap: 900 KiB. The API server limits the whole object,
/// including keys and metadata, to 1 MiB.
pub const MAX_CONFIG_MAP_BYTES: usize = 900 << 10;

/// Maximum size of a module in bytes, which is the limit of the sandbox.
pub const MAX_MODULE_BYTES: u64 = MAX_COMPONENT_BYTES;

/// Maximum size of all modules together, compressed: 32 MiB. A cluster's data store has a few GiB
/// for everything.
pub(super) const MAX_PACKED_BYTES: usize = 32 << 20;

/// Maximum number of modules in a run.
pub(super) const MAX_MODULES: usize = 256;

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
    /// The file name of a module, which is truncated here, cannot be a ConfigMap key.
    #[error(
        "module file `{1}` of plugin `{0}` has a name that ConfigMaps do not allow: use letters, digits, `-`, `_` and `.`, at most 100 characters"
    )]
    ModuleName(PluginName, String),
    /// A module file with this size exceeds the limit for loading.
    #[error(
        "module file `{1}` of plugin `{0}` has {size}, more than the limit of {limit}",
        size = Bytes(*.2 as u64),
        limit = Bytes(MAX_MODULE_BYTES)
    )]
    ModuleSize(PluginName, String, usize),
    /// The run has too many modules.
    #[error("there are {0} modules: ConfigMaps carry at most {MAX_MODULES}")]
    TooManyModules(usize),
    /// All modules together are too large for the cluster's data store.
    #[error(
        "the modules have {size} when compressed: ConfigMaps carry at most {limit}",
        size = Bytes(*.0 as u64),
        limit = Bytes(MAX_PACKED_BYTES as u64)
    )]
    ModulesTooLarge(usize),
    /// The archive of a scheduled run would be lost with its pod.
    #[error("the archive of a scheduled run is lost with its pod: keep it on a volume, or upload it")]
    ScheduleWithoutStorage,
    /// Limits for archives are for those on a volume.
    #[error("limits for the archives of scheduled runs need a volume: other archives are lost with their pods")]
    KeepWithoutVolume,
    /// Compression or JSON serialization failed. This is not known to happen.
    #[error("failed to write the manifest: {0}")]
    Write(String),
}
