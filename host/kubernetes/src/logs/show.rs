//! Shows the current logs, one container after the other.

use std::sync::Arc;
use std::time::Duration;

use kube::core::subresource::LogParams;

use super::event::{LogEvent, LogOptions, LogSource, LogSummary, LogsError, Tell};
use super::lines::Lines;
use super::pods::{Pod, Pods};
use crate::cluster::Cluster;
use crate::error::{ClusterError, chain};
use crate::query::{Fetch, Selection, Throttle, list};

/// Rate limit for the API server: requests per second, and burst after a pause.
const RATE: (f64, u32) = (30.0, 50);

/// How long a log may be silent before its end, if it is not followed.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// Emits the logs of all selected containers, pod by pod in name order.
///
/// A log that cannot be read is reported as a notice, and the others continue.
///
/// # Errors
/// Returns an error if the pods cannot be listed, if there is none, or if `tell` fails.
pub async fn show(cluster: &Cluster, options: &LogOptions, tell: Tell<'_>) -> Result<LogSummary, LogsError> {
    let mut summary = LogSummary::default();
    for pod in wanted(cluster, options).await? {
        for (container, _) in &pod.containers {
            let source = Arc::new(LogSource {
                namespace: options.namespace.clone(),
                pod: pod.name.clone(),
                container: container.clone(),
            });
            summary.containers += 1;
            match one(cluster, &source, tell, &mut summary.lines).await {
                Err(LogsError::Cluster(error)) => {
                    summary.failed += 1;
                    tell(LogEvent::Notice(error.to_string())).map_err(LogsError::Output)?;
                }
                other => other?,
            }
        }
    }
    Ok(summary)
}

/// Returns the selected pods in name order.
pub(super) async fn wanted(cluster: &Cluster, options: &LogOptions) -> Result<Vec<Pod>, LogsError> {
    let fetch = Fetch::new(cluster.client(), Throttle::new(RATE.0, RATE.1));
    let namespace = &options.namespace;
    let what = format!("list the pods in namespace `{namespace}`");
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let (Pods(mut pods), _) = list(&fetch, &what, &path, &Selection::default(), Pods::default()).await?;
    pods.retain(|pod| pod.is_wanted(options));
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    if pods.is_empty() {
        return Err(LogsError::NoPods { namespace: namespace.clone(), plugin: options.plugin.clone() });
    }
    Ok(pods)
}

async fn one(cluster: &Cluster, source: &Arc<LogSource>, tell: Tell<'_>, count: &mut u64) -> Result<(), LogsError> {
    let what = what(source);
    let request = request(source, LogParams::default())?;
    let asked = tokio::time::timeout(SILENCE, cluster.client().request_stream(request)).await;
    let silent = || ClusterError::new(&what, format!("nothing came for {} s", SILENCE.as_secs()));
    let stream = asked.map_err(|_| silent())?.map_err(|error| ClusterError::api(&what, &error))?;
    let mut lines = Lines::new(stream);
    loop {
        let next = tokio::time::timeout(SILENCE, lines.next()).await.map_err(|_| silent())?;
        let Some(piece) = next.map_err(|error| ClusterError::new(&what, chain(&error)))? else { return Ok(()) };
        *count += 1;
        tell(LogEvent::Line { source: Arc::clone(source), line: piece.text }).map_err(LogsError::Output)?;
    }
}

/// Returns the operation for messages, which completes "failed to …".
pub(super) fn what(source: &LogSource) -> String {
    format!("read the log of container `{}` of pod `{}`", source.container, source.pod)
}

/// Builds the request for the log of a container.
pub(super) fn request(source: &LogSource, params: LogParams) -> Result<http::Request<Vec<u8>>, ClusterError> {
    let params = LogParams { container: Some(source.container.clone()), ..params };
    kube::core::Request::new(format!("/api/v1/namespaces/{}/pods", source.namespace))
        .logs(&source.pod, &params)
        .map_err(|error| ClusterError::new(what(source), error.to_string()))
}
