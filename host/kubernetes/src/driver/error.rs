//! Errors in definitions that prevent their execution in a cluster.

/// An error in a definition that is detectable without the API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The driver does not run in a cluster.
    #[error(
        "plugin `{0}` has the driver `Process`, which a run on a machine knows and a cluster does not: use `Job` or `DaemonSet`, or run it with `--local`"
    )]
    Process(String),
    /// The definition has neither an image nor a command.
    #[error("plugin `{0}` has no image: name one under `spec.image`, or a `command` for the image of the run")]
    NoImage(String),
    /// A value is too long for a label.
    #[error(
        "`{value}` is too long for the label `{label}`: {length} characters, and Kubernetes takes at most 63; choose a shorter plugin name"
    )]
    LabelTooLong {
        /// The label.
        label: &'static str,
        /// Its value.
        value: String,
        /// The length of the value.
        length: usize,
    },
    /// A name is too long for an object.
    #[error(
        "`{name}` is too long for the name of a {kind}: {length} characters, and Kubernetes takes at most 253; choose a shorter plugin name"
    )]
    NameTooLong {
        /// The kind of object.
        kind: &'static str,
        /// The name.
        name: String,
        /// The length of the name.
        length: usize,
    },
    /// A field of the pod spec has the wrong type.
    #[error("plugin `{plugin}`: `{place}` is not {expected}")]
    Type {
        /// The plugin.
        plugin: String,
        /// The path of the field.
        place: String,
        /// The expected type.
        expected: &'static str,
    },
    /// A definition hard-codes a progress port that belongs to another plugin.
    ///
    /// Plugins on the network of their nodes would report their progress to each other's workers.
    #[error(
        "plugin `{plugin}` shares the network of its nodes with other plugins of the run, and `{place}` contains the progress port {port}, \
         which belongs to another plugin: use the variable `SONOBUOY_PROGRESS_PORT`, or set `hostNetwork: false` in its `podSpec`"
    )]
    ProgressPort {
        /// The plugin.
        plugin: String,
        /// The path of the field that contains the port.
        place: String,
        /// The port.
        port: String,
    },
    /// A definition refers to a Secret of the aggregator.
    #[error("plugin `{plugin}`: the Secret `{secret}` is reserved for the aggregator: remove it from the definition")]
    SecretReserved {
        /// The plugin.
        plugin: String,
        /// The Secret.
        secret: &'static str,
    },
    /// Two containers of a pod have the same name.
    #[error("plugin `{plugin}`: two containers of its pod are called `{name}`: rename one")]
    ContainerTwice {
        /// The plugin.
        plugin: String,
        /// The name.
        name: String,
    },
    /// A container has the name of the worker's container.
    #[error("plugin `{plugin}`: the container name `{name}` is taken by the worker: choose another")]
    ContainerReserved {
        /// The plugin.
        plugin: String,
        /// The name.
        name: &'static str,
    },
}
