//! What whoever prints logs is given.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::ClusterError;

/// Which logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// Only pods of this plugin; `sonobuoy` stands for the aggregator. `None`: every pod of the namespace.
    pub plugin: Option<String>,
}

/// The container that a line comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSource {
    /// The namespace of its pod.
    pub namespace: String,
    /// Its pod.
    pub pod: String,
    /// Its name.
    pub container: String,
}

/// As Sonobuoy announces it: `namespace="ns" pod="p" container="c"`.
impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "namespace={:?} pod={:?} container={:?}", self.namespace, self.pod, self.container)
    }
}

/// Something to be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// A line, without its end. Not necessarily UTF-8.
    Line {
        /// Where it comes from.
        source: Arc<LogSource>,
        /// What it says.
        line: Vec<u8>,
    },
    /// A word about the logs themselves: what could not be read, and why.
    Notice(String),
}

/// What was printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// How many lines.
    pub lines: u64,
    /// How many containers were asked for their logs.
    pub containers: usize,
    /// How many logs could not be read.
    pub failed: usize,
}

/// Logs that could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// The cluster said no.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// There is no pod to show logs of.
    #[error("there is no pod {}in namespace `{namespace}`", of_plugin(plugin.as_deref()))]
    NoPods {
        /// Where it was looked for.
        namespace: String,
        /// Whose pods were looked for.
        plugin: Option<String>,
    },
    /// What was read cannot be printed.
    #[error("failed to print the logs")]
    Output(#[source] io::Error),
}

fn of_plugin(plugin: Option<&str>) -> String {
    plugin.map(|plugin| format!("of plugin `{plugin}` ")).unwrap_or_default()
}

/// Takes events, one at a time. An error ends the whole.
pub(super) type Tell<'a> = &'a mut (dyn FnMut(LogEvent) -> io::Result<()> + Send);
