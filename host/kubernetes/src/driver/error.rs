//! Errors in definitions that prevent their execution in a cluster.

use plumbline_core::{CheckRunTooLarge, PluginName};

use crate::chunks::ChunkError;

/// An error in a definition that is detectable without the API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The driver does not run in a cluster.
    #[error(
        "plugin `{0}` has the driver `Process`, which runs only on a machine: use `Job` or `DaemonSet`, or run it with `--local`"
    )]
    Process(PluginName),
    /// The definition has neither an image nor a command that the image of the run could execute.
    #[error("plugin `{0}` has no image")]
    NoImage(PluginName),
    /// The aggregator does not have the component of a check.
    #[error("plugin `{0}`: its check did not reach the aggregator")]
    CheckMissing(PluginName),
    /// The component of a check cannot be read.
    #[error("plugin `{plugin}`: failed to read check `{file}`: {cause}")]
    CheckRead {
        /// The plugin.
        plugin: PluginName,
        /// The file of the component.
        file: String,
        /// The cause.
        cause: String,
    },
    /// The component of a check does not fit into ConfigMaps.
    #[error(transparent)]
    CheckChunks(#[from] ChunkError),
    /// The options and rights of a check do not fit into a variable.
    #[error("plugin `{plugin}`: {error}")]
    CheckRun {
        /// The plugin.
        plugin: PluginName,
        /// The size.
        error: CheckRunTooLarge,
    },
    /// The check of a plugin reads files of its node, which the Pod Security level of the namespace
    /// does not allow.
    #[error(
        "plugin `{0}`: its check reads files of the node (`plumbline.grants.files`), which the Pod Security level `{1}` does not allow: set the level `privileged`"
    )]
    CheckFiles(PluginName, String),
    /// A value is too long for a label.
    #[error(
        "`{value}` is too long for the label `{label}`: {} characters, and Kubernetes takes at most 63; choose a shorter plugin name",
        .value.len()
    )]
    LabelTooLong {
        /// The label.
        label: &'static str,
        /// Its value.
        value: String,
    },
    /// A field of the definition has the wrong type.
    #[error("plugin `{plugin}`: `{path}` is not {expected}")]
    Type {
        /// The plugin.
        plugin: PluginName,
        /// The path of the field.
        path: String,
        /// The expected type.
        expected: &'static str,
    },
    /// A definition hard-codes a progress port that belongs to another plugin.
    ///
    /// Plugins on the network of their nodes would report their progress to each other's workers.
    #[error(
        "plugin `{plugin}` uses the host network, and its container `{container}` has the progress port {port} of another plugin: use the variable `SONOBUOY_PROGRESS_PORT`, or set `hostNetwork: false` in its `podSpec`"
    )]
    ProgressPort {
        /// The plugin.
        plugin: PluginName,
        /// The container that contains the port.
        container: String,
        /// The port.
        port: String,
    },
    /// A definition refers to this Secret of the aggregator.
    #[error("plugin `{0}`: the Secret `{1}` is reserved for the aggregator: remove it from the definition")]
    SecretReserved(PluginName, &'static str),
    /// Two containers of a pod have this name.
    #[error("plugin `{0}`: two containers of its pod are called `{1}`: rename one")]
    ContainerTwice(PluginName, String),
    /// A container has the name of the worker's container.
    #[error("plugin `{0}`: the container name `{name}` is taken by the worker: choose another", name = crate::names::WORKER_CONTAINER)]
    ContainerReserved(PluginName),
}
