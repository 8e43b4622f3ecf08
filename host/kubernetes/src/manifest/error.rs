//! Why no manifest can be made.

use plumbline_core::PluginName;
use plumbline_core::definition::DefinitionError;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::size::Bytes;

/// Why no manifest can be made.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A name that objects get is not one.
    #[error(
        "{what} `{name}` is not a name of Kubernetes: use lower-case letters, digits and `-`, at most {max} characters"
    )]
    Name {
        /// Which name.
        what: &'static str,
        /// The text, cut.
        name: String,
        /// How long it may be.
        max: usize,
    },
    /// The definitions cannot be in one run, or one is not usable after its transforms.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A plugin is a process of a machine.
    #[error("plugin `{0}` has the driver `Process`, which a cluster does not have: it runs with `--local` only")]
    Process(PluginName),
    /// A plugin has no image, and no command that the image of the run could execute.
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
    /// A definition names a service account and asks for permissions, which would belong to another one.
    #[error(
        "plugin `{plugin}` names the service account `{account}` and has `plumbline.permissions`: remove one of the two"
    )]
    PermissionsAndAccount {
        /// The plugin.
        plugin: PluginName,
        /// The account.
        account: String,
    },
    /// A definition asks for permissions that the mode of the run does not create.
    #[error(
        "plugin `{0}` asks for permissions in the whole cluster, and the mode `namespaceAdmin` makes roles in its namespace only: use the mode `minimal`"
    )]
    ClusterPermissions(PluginName),
    /// An image depends on the cluster's version, which is not known.
    #[error("the image of plugin `{plugin}` depends on the version of the cluster, which is not known: `{image}`")]
    NoVersion {
        /// The plugin.
        plugin: PluginName,
        /// The image as it is written.
        image: String,
    },
    /// A part of a definition that Kubernetes reads has another shape there.
    #[error("plugin `{plugin}`: `{path}` must be {expected}")]
    Shape {
        /// The plugin.
        plugin: PluginName,
        /// The key.
        path: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A definition or its files do not fit into a ConfigMap.
    #[error("{what} of plugin `{plugin}` has {}: a ConfigMap takes {}", Bytes(*.bytes as u64), Bytes(MAX_CONFIG_MAP_BYTES as u64))]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The plugin.
        plugin: PluginName,
        /// Its size.
        bytes: usize,
    },
    /// A module's file has a name that no key of a ConfigMap can hold.
    #[error(
        "module file `{file}` of plugin `{plugin}` has a name that a cluster cannot keep: use letters, digits, `-`, `_` and `.`, at most 100 characters"
    )]
    ModuleName {
        /// The plugin.
        plugin: PluginName,
        /// The file, cut.
        file: String,
    },
    /// A module is larger than any that is loaded.
    #[error("module file `{file}` of plugin `{plugin}` has {}: at most {} are loaded", Bytes(*.bytes as u64), Bytes(MAX_MODULE_BYTES))]
    ModuleSize {
        /// The plugin.
        plugin: PluginName,
        /// The file.
        file: String,
        /// Its size.
        bytes: usize,
    },
    /// There are more modules than a run has.
    #[error("there are {0} modules: at most {MAX_MODULES} are carried into a cluster")]
    TooManyModules(usize),
    /// Modules together are larger than what is reasonable to keep in a cluster's store.
    #[error("the modules have {} when compressed: at most {} are carried into a cluster", Bytes(*.0 as u64), Bytes(MAX_PACKED_BYTES as u64))]
    ModulesTooLarge(usize),
    /// Something could not be compressed or written as JSON; not known to happen.
    #[error("failed to write the manifest: {0}")]
    Write(String),
}

/// What is put into one ConfigMap: 900 KiB. The API server takes 1 MiB for the whole object, keys and metadata included.
pub const MAX_CONFIG_MAP_BYTES: usize = 900 << 10;

/// The largest module: what the sandbox takes.
pub const MAX_MODULE_BYTES: u64 = MAX_COMPONENT_BYTES;

/// All modules together, compressed: 32 MiB. A cluster's store has a few GiB for everything there is.
pub const MAX_PACKED_BYTES: usize = 32 << 20;

/// Modules in a run.
pub(super) const MAX_MODULES: usize = 256;
