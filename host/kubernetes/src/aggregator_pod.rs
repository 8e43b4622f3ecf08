//! The aggregator's pod: which one it is, and where its status stands.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;

use crate::error::ClusterError;
use crate::names;

/// Pods that are looked at to find the one: there is one, or an old one and its successor.
const MAX_PODS: u32 = 50;

/// The aggregator's pod: by its label, by the label that old versions gave it, by its name.
pub(crate) async fn find(pods: &Api<Pod>, namespace: &str) -> Result<Option<Pod>, ClusterError> {
    let what = format!("find the aggregator's pod in namespace `{namespace}`");
    let (old_label, old_value) = names::LEGACY_AGGREGATOR_LABEL;
    for selector in [format!("{}={}", names::ROLE_LABEL, names::AGGREGATOR), format!("{old_label}={old_value}")] {
        match pods.list(&ListParams::default().labels(&selector).limit(MAX_PODS)).await {
            Ok(list) => {
                if let Some(pod) = choose(list.items) {
                    return Ok(Some(pod));
                }
            }
            // Whoever may not list may still read the one pod by its name.
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(ClusterError::api(what, &error)),
        }
    }
    pods.get_opt(names::AGGREGATOR_POD).await.map_err(|error| ClusterError::api(what, &error))
}

/// The first that is not being deleted, else the first.
pub(crate) fn choose(mut pods: Vec<Pod>) -> Option<Pod> {
    let alive = pods.iter().position(|pod| pod.metadata.deletion_timestamp.is_none());
    (!pods.is_empty()).then(|| pods.swap_remove(alive.unwrap_or(0)))
}

/// The annotation with the status: under the key that every client reads, else under the other; an empty one tells nothing.
pub(crate) fn status_annotation(pod: &Pod) -> Option<&str> {
    let all = pod.metadata.annotations.as_ref()?;
    let keys = [names::STATUS_ANNOTATION, names::STATUS_ANNOTATION_ALIAS];
    keys.iter().filter_map(|key| all.get(*key)).map(String::as_str).find(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_that_is_being_deleted_gives_way() {
        let named = |name: &str, deleted: bool| {
            let mut metadata = json!({"name": name});
            if deleted {
                metadata["deletionTimestamp"] = json!("2026-11-20T13:00:00Z");
            }
            serde_json::from_value::<Pod>(json!({"metadata": metadata})).unwrap()
        };
        let name = |pods| choose(pods).and_then(|pod| pod.metadata.name);
        assert_eq!(name(vec![named("old", true), named("new", false)]).as_deref(), Some("new"));
        assert_eq!(name(vec![named("old", true)]).as_deref(), Some("old"));
        assert_eq!(name(vec![]), None);
    }
}
