//! The pod in which this process runs.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// Number of attempts to read the pod. Its network may not be ready immediately after its start.
const ATTEMPTS: usize = 6;

/// Returns the UID of a pod, for owner references to it.
///
/// # Errors
/// Returns an error if the pod cannot be read, or has no UID.
pub async fn own_pod_uid(cluster: &Cluster, namespace: &str, pod: &str) -> Result<String, ClusterError> {
    let what = format!("read pod `{pod}` in namespace `{namespace}`");
    let api: Api<Pod> = Api::namespaced(cluster.client(), namespace);
    let ask = || async { api.get(pod).await.map_err(|error| ClusterError::api(&what, &error)) };
    let again = ExponentialBuilder::default().with_min_delay(Duration::from_millis(500)).with_max_times(ATTEMPTS - 1);
    let found = ask.retry(again).when(ClusterError::is_transient).await?;
    found.metadata.uid.ok_or_else(|| ClusterError::new(what, "it has no uid"))
}
