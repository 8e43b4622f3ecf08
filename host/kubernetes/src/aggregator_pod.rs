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

/// Returns the UID of the pod in which this process runs, for owner references to it. The request
/// is retried for at most `patience`.
///
/// # Errors
/// Returns an error if the pod cannot be read, or has no UID.
pub async fn own_pod_uid(
    cluster: &Cluster,
    namespace: &str,
    pod: &str,
    patience: Duration,
) -> Result<String, ClusterError> {
    let what = format!("read pod `{pod}` in namespace `{namespace}`");
    let pods = kube::core::Request::new(format!("/api/v1/namespaces/{namespace}/pods"));
    let request = pods.get(pod, &GetParams::default());
    let found: Value = send_with_retry(cluster, &what, patience, request).await?;
    let uid = found.pointer("/metadata/uid").and_then(Value::as_str);
    uid.map(str::to_owned).ok_or_else(|| ClusterError::new(what, "it has no uid").lasting())
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

/// Returns the newest pod of those that are active, or else of those that have ended, such as the
/// pods of scheduled runs. Pods that are being deleted come last.
pub(crate) fn choose(pods: Vec<PodView>) -> Option<PodView> {
    pods.into_iter().rev().max_by_key(|pod| (pod.deleting.is_none(), !pod.has_ended(), pod.created))
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
        let scheduled = |name: &str, phase: &str, second| PodView {
            phase: phase.to_owned(),
            created: jiff::Timestamp::from_second(second).ok(),
            ..named(name, false)
        };
        let (old, new) = (scheduled("old", "Succeeded", 1), scheduled("new", "Failed", 2));
        assert_eq!(name(vec![new.clone(), old.clone()]).as_deref(), Some("new"));
        assert_eq!(name(vec![old, scheduled("active", "Running", 0), new]).as_deref(), Some("active"));
    }
}
