//! Shows the current logs, one container after the other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube::core::subresource::LogParams;

use super::lines::{LogSource, SILENCE, open, silent, what};
use crate::cluster::Cluster;
use crate::error::{ClusterError, chain};
use crate::pod_view::PodView;
use crate::query::{Fetch, Selection, collect};

/// The name by which Sonobuoy's users request the aggregator's logs.
const AGGREGATOR_ALIAS: &str = "sonobuoy";

/// Selects logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// Only pods of this plugin, where `sonobuoy` means the aggregator. `None` means every pod of
    /// the namespace.
    pub plugin: Option<String>,
    /// The number of lines at the end of each log to start with. `None` means all.
    pub tail: Option<u32>,
    /// Only lines that are at most this old, in whole seconds. `None` means all.
    pub since: Option<Duration>,
}

impl LogOptions {
    /// The parameters of the first request for a log.
    pub(super) fn start(&self) -> LogParams {
        LogParams {
            tail_lines: self.tail.map(i64::from),
            // The API server rejects 0.
            since_seconds: self.since.map(|since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX).max(1)),
            ..LogParams::default()
        }
    }

    pub(super) fn selects(&self, pod: &PodView) -> bool {
        match self.plugin.as_deref() {
            None => true,
            Some(AGGREGATOR_ALIAS) => pod.is_aggregator,
            Some(plugin) => pod.plugin.as_deref() == Some(plugin),
        }
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
    #[error("found no pod {}in namespace `{namespace}`", of_plugin(plugin.as_deref()))]
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
pub(super) type Emit<'a> = &'a mut (dyn FnMut(LogEvent) -> io::Result<()> + Send);

/// Rate limit for the API server: requests per second, and burst after a pause.
const RATE: (f64, u32) = (30.0, 50);

/// Emits the logs of all selected containers, pod by pod in name order.
///
/// A log that cannot be read is reported as a notice, and the others continue.
///
/// # Errors
/// Returns an error if the pods cannot be listed, if there is none, or if `emit` fails.
pub async fn show(cluster: &Cluster, options: &LogOptions, emit: Emit<'_>) -> Result<LogSummary, LogsError> {
    let mut summary = LogSummary::default();
    for pod in wanted(cluster, options).await? {
        for container in &pod.containers {
            let source = Arc::new(LogSource {
                namespace: options.namespace.clone(),
                pod: pod.name.clone(),
                container: container.name.clone(),
            });
            summary.containers += 1;
            match one(cluster, &source, options.start(), emit, &mut summary.lines).await {
                Err(LogsError::Cluster(error)) => {
                    summary.failed += 1;
                    emit(LogEvent::Notice(error.to_string())).map_err(LogsError::Output)?;
                }
                other => other?,
            }
        }
    }
    Ok(summary)
}

pub(super) async fn wanted(cluster: &Cluster, options: &LogOptions) -> Result<Vec<PodView>, LogsError> {
    let fetch = Fetch::new(cluster.client(), RATE.0, RATE.1);
    let namespace = &options.namespace;
    let what = format!("list the pods in namespace `{namespace}`");
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let mut pods = collect(&fetch, &what, &path, &Selection::default(), |pod| PodView::read(&pod)).await?;
    pods.retain(|pod| options.selects(pod));
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    if pods.is_empty() {
        return Err(LogsError::NoPods { namespace: namespace.clone(), plugin: options.plugin.clone() });
    }
    Ok(pods)
}

async fn one(
    cluster: &Cluster,
    source: &Arc<LogSource>,
    params: LogParams,
    emit: Emit<'_>,
    count: &mut u64,
) -> Result<(), LogsError> {
    let mut lines = open(&cluster.client(), source, params).await?;
    loop {
        let next = tokio::time::timeout(SILENCE, lines.next()).await.map_err(|_| silent(source))?;
        let next = next.map_err(|error| ClusterError::new(what(source), chain(&error)))?;
        let Some(piece) = next else { return Ok(()) };
        *count += 1;
        emit(LogEvent::Line { source: Arc::clone(source), line: piece.text }).map_err(LogsError::Output)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn plugins_are_distinguished() {
        let pod =
            |labels: Value| PodView::read(&json!({"metadata": {"name": "p", "labels": labels}, "spec": {}})).unwrap();
        let options = |plugin: &str| LogOptions {
            namespace: "n".to_owned(),
            plugin: Some(plugin.to_owned()),
            ..LogOptions::default()
        };
        let old = pod(json!({"run": "sonobuoy-master"}));
        assert!(options("sonobuoy").selects(&old) && !options("e2e").selects(&old));
        let plugin = pod(json!({"sonobuoy-plugin": "e2e"}));
        assert!(options("e2e").selects(&plugin) && !options("sonobuoy").selects(&plugin));
    }
}
