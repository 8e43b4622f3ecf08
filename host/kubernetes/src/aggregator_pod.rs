//! Finds the aggregator's pod, from outside and inside.

use std::time::Duration;

use kube::Api;
use kube::api::{GetParams, ListParams};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::pod_view::{PodObject, PodView};
use crate::retry::send_with_retry;

/// Maximum number of pods to list. There is usually one, or an old one and its successor.
const MAX_PODS: u32 = 50;

/// How long reading the own pod is retried. Its network may not be ready immediately after its
/// start.
const START_PATIENCE: Duration = Duration::from_secs(15);

/// Returns the UID of the pod in which this process runs, for owner references to it.
///
/// # Errors
/// Returns an error if the pod cannot be read, or has no UID.
pub async fn own_pod_uid(cluster: &Cluster, namespace: &str, pod: &str) -> Result<String, ClusterError> {
    let what = format!("read pod `{pod}` in namespace `{namespace}`");
    let pods = kube::core::Request::new(format!("/api/v1/namespaces/{namespace}/pods"));
    let found = send_with_retry(cluster, &what, START_PATIENCE, pods.get(pod, &GetParams::default())).await?;
    let uid = found.pointer("/metadata/uid").and_then(Value::as_str);
    uid.map(str::to_owned).ok_or_else(|| ClusterError::new(what, "it has no uid"))
}

/// Finds the aggregator's pod by its label, then by the label of old versions, then by its name.
pub(crate) async fn find(pods: &Api<PodObject>, namespace: &str) -> Result<Option<PodView>, ClusterError> {
    let what = format!("find the aggregator's pod in namespace `{namespace}`");
    let (old_label, old_value) = names::LEGACY_AGGREGATOR_LABEL;
    for selector in [format!("{}={}", names::ROLE_LABEL, names::AGGREGATOR), format!("{old_label}={old_value}")] {
        match pods.list(&ListParams::default().labels(&selector).limit(MAX_PODS)).await {
            Ok(list) => {
                if let Some(pod) = choose(list.items.into_iter().map(PodView::from).collect()) {
                    return Ok(Some(pod));
                }
            }
            // An account without permission to list may still get the pod by name.
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(ClusterError::api(what, &error)),
        }
    }
    let found = pods.get_opt(names::AGGREGATOR_POD).await.map_err(|error| ClusterError::api(what, &error))?;
    Ok(found.map(PodView::from))
}

/// Returns the first pod that is not being deleted, or else the first.
pub(crate) fn choose(mut pods: Vec<PodView>) -> Option<PodView> {
    let alive = pods.iter().position(|pod| pod.deleting.is_none());
    (!pods.is_empty()).then(|| pods.swap_remove(alive.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_is_being_deleted_gives_way() {
        let named = |name: &str, deleted: bool| PodView {
            name: name.to_owned(),
            deleting: deleted.then_some(30),
            ..PodView::default()
        };
        let name = |pods| choose(pods).map(|pod| pod.name);
        assert_eq!(name(vec![named("old", true), named("new", false)]).as_deref(), Some("new"));
        assert_eq!(name(vec![named("old", true)]).as_deref(), Some("old"));
        assert_eq!(name(vec![]), None);
    }
}
