//! The pod that this process runs in.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// How often it is asked for: right after the start of a pod its network may not be ready.
const ATTEMPTS: usize = 6;

/// The uid of a pod: what objects that are to go with it name as their owner.
///
/// # Errors
/// When the pod cannot be read, or has no uid.
pub async fn own_pod_uid(cluster: &Cluster, namespace: &str, pod: &str) -> Result<String, ClusterError> {
    let what = format!("read pod `{pod}` in namespace `{namespace}`");
    let api: Api<Pod> = Api::namespaced(cluster.client(), namespace);
    let ask = || async { api.get(pod).await.map_err(|error| ClusterError::api(&what, &error)) };
    let again = ExponentialBuilder::default().with_min_delay(Duration::from_millis(500)).with_max_times(ATTEMPTS - 1);
    let found = ask.retry(again).when(ClusterError::is_transient).await?;
    found.metadata.uid.ok_or_else(|| ClusterError::new(what, "it has no uid"))
}
