//! Errors while building a manifest.

use plumbline_core::PluginName;
use plumbline_core::definition::DefinitionError;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::size::Bytes;

/// Error while building a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// An object name is invalid.
    #[error(
        "{what} `{name}` is not a name of Kubernetes: use lower-case letters, digits and `-`, at most {max} characters"
    )]
    Name {
        /// The kind of name.
        what: &'static str,
        /// The name, truncated.
        name: String,
        /// Maximum length.
        max: usize,
    },
    /// The definitions conflict with each other, or one is invalid after its transforms.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A plugin has the driver `Process`, which does not run in a cluster.
    #[error("plugin `{0}` has the driver `Process`, which a cluster does not have: it runs with `--local` only")]
    Process(PluginName),
    /// A plugin has neither an image nor a command that the image of the run could execute.
    #[error("plugin `{0}` has no image: name one under `spec.image`, or a `command` for the image of the run")]
    NoImage(PluginName),
    /// A definition refers to a Secret of the aggregator.
    #[error("plugin `{plugin}`: the Secret `{secret}` is reserved for the aggregator: remove it from the definition")]
    SecretReserved {
        /// The plugin.
        plugin: PluginName,
        /// The Secret.
        secret: &'static str,
    },
    /// A definition names a service account and also asks for permissions, which would apply to
    /// another account.
    #[error(
        "plugin `{plugin}` names the service account `{account}` and has `plumbline.permissions`: remove one of the two"
    )]
    PermissionsAndAccount {
        /// The plugin.
        plugin: PluginName,
        /// The account.
        account: String,
    },
    /// A definition asks for permissions that the permission mode of the run does not create.
    #[error(
        "plugin `{0}` asks for permissions in the whole cluster, and the mode `namespaceAdmin` makes roles in its namespace only: use the mode `minimal`"
    )]
    ClusterPermissions(PluginName),
    /// An image depends on the version of the cluster, which is unknown.
    #[error("the image of plugin `{plugin}` depends on the version of the cluster, which is not known: `{image}`")]
    NoVersion {
        /// The plugin.
        plugin: PluginName,
        /// The image as written in the definition.
        image: String,
    },
    /// A part of a definition does not have the structure that Kubernetes requires.
    #[error("plugin `{plugin}`: `{path}` must be {expected}")]
    Shape {
        /// The plugin.
        plugin: PluginName,
        /// The path of the field.
        path: String,
        /// The expected type.
        expected: &'static str,
    },
    /// A definition or its files do not fit into a ConfigMap.
    #[error("{what} of plugin `{plugin}` has {}: a ConfigMap takes {}", Bytes(*.bytes as u64), Bytes(MAX_CONFIG_MAP_BYTES as u64))]
    TooLarge {
        /// The oversized part.
        what: &'static str,
        /// The plugin.
        plugin: PluginName,
        /// Its size in bytes.
        bytes: usize,
    },
    /// The file name of a module cannot be a ConfigMap key.
    #[error(
        "module file `{file}` of plugin `{plugin}` has a name that a cluster cannot keep: use letters, digits, `-`, `_` and `.`, at most 100 characters"
    )]
    ModuleName {
        /// The plugin.
        plugin: PluginName,
        /// The file name, truncated.
        file: String,
    },
    /// A module exceeds the size limit for loading.
    #[error("module file `{file}` of plugin `{plugin}` has {}: at most {} are loaded", Bytes(*.bytes as u64), Bytes(MAX_MODULE_BYTES))]
    ModuleSize {
        /// The plugin.
        plugin: PluginName,
        /// The file name.
        file: String,
        /// Its size in bytes.
        bytes: usize,
    },
    /// The run has too many modules.
    #[error("there are {0} modules: at most {MAX_MODULES} are carried into a cluster")]
    TooManyModules(usize),
    /// All modules together are too large for the cluster's data store.
    #[error("the modules have {} when compressed: at most {} are carried into a cluster", Bytes(*.0 as u64), Bytes(MAX_PACKED_BYTES as u64))]
    ModulesTooLarge(usize),
    /// Compression or JSON serialization failed. This is not known to happen.
    #[error("failed to write the manifest: {0}")]
    Write(String),
}

/// Maximum size of the data in one ConfigMap: 900 KiB. The API server limits the whole object,
/// including keys and metadata, to 1 MiB.
pub const MAX_CONFIG_MAP_BYTES: usize = 900 << 10;

/// Maximum size of a module in bytes, which is the limit of the sandbox.
pub const MAX_MODULE_BYTES: u64 = MAX_COMPONENT_BYTES;

/// Maximum size of all modules together, compressed: 32 MiB. A cluster's data store has a few GiB
/// for everything.
pub const MAX_PACKED_BYTES: usize = 32 << 20;

/// Maximum number of modules in a run.
pub(super) const MAX_MODULES: usize = 256;
