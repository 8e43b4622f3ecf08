//! The options, events and errors of log output.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::ClusterError;

/// Selects logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// Only pods of this plugin, where `sonobuoy` means the aggregator. `None` means every pod of
    /// the namespace.
    pub plugin: Option<String>,
}

/// The container that a line comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSource {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
}

/// Formats the source as Sonobuoy does: `namespace="ns" pod="p" container="c"`.
impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "namespace={:?} pod={:?} container={:?}", self.namespace, self.pod, self.container)
    }
}

/// An item to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// A line without its line ending. It may not be UTF-8.
    Line {
        /// The container that printed the line.
        source: Arc<LogSource>,
        /// The content of the line.
        line: Vec<u8>,
    },
    /// A message about the logs themselves, such as a log that could not be read.
    Notice(String),
}

/// The totals of the printed logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Number of lines.
    pub lines: u64,
    /// Number of containers whose logs were requested.
    pub containers: usize,
    /// Number of logs that could not be read.
    pub failed: usize,
}

/// Error while showing logs.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// A cluster operation failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// There is no pod whose logs could be shown.
    #[error("there is no pod {}in namespace `{namespace}`", of_plugin(plugin.as_deref()))]
    NoPods {
        /// The namespace.
        namespace: String,
        /// The plugin whose pods were searched, if any.
        plugin: Option<String>,
    },
    /// The output could not be written.
    #[error("failed to print the logs")]
    Output(#[source] io::Error),
}

fn of_plugin(plugin: Option<&str>) -> String {
    plugin.map(|plugin| format!("of plugin `{plugin}` ")).unwrap_or_default()
}

/// Receives one event at a time. An error ends the operation.
pub(super) type Tell<'a> = &'a mut (dyn FnMut(LogEvent) -> io::Result<()> + Send);
