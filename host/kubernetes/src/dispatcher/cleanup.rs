//! Deletes the objects of plugins.

use std::time::Duration;

use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Map, Value};

use super::create::{Kind, text};
use crate::cluster::Cluster;
use crate::driver::{SKIP_CLEANUP_ANNOTATION, Stage};
use crate::error::ClusterError;
use crate::names;
use crate::retry::{Listing, list, retry_until, send_with_retry};

/// Grace period of a Job's pod in seconds: the time for which a worker still waits for its plugin.
const POD_GRACE: u32 = 60;

/// Grace period of a DaemonSet in seconds. It has nothing to do itself, and its pods keep their own
/// grace period.
const DAEMON_SET_GRACE: u32 = 1;

/// How long each cleanup request is retried. A complete run must not wait long for objects that are
/// deleted with its namespace anyway.
const PATIENCE: Duration = Duration::from_secs(30);

/// Objects per page of a metadata list: the size that Kubernetes clients use.
const PAGE: u32 = 500;

/// A plugin that was launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launched {
    pub(super) session: String,
    pub(super) skip_cleanup: bool,
}

/// Deletes the pods and DaemonSets of the plugins in `launched` that do not ask to keep them, and
/// the Secret with their certificates.
///
/// Objects from an earlier life of the aggregator are deleted too, and are identified by their
/// owner. Objects that are already gone are fine. Returns every failure, and none stops the
/// cleanup.
///
/// Objects are listed and deleted one by one. That needs the permissions `list` and `delete`, but
/// not `deletecollection`.
pub(super) async fn remove_all(cluster: &Cluster, stage: &Stage, launched: &[Launched]) -> Vec<ClusterError> {
    let selector =
        format!("{}={},{}={}", names::COMPONENT_LABEL, names::COMPONENT_VALUE, names::ROLE_LABEL, names::PLUGIN);
    let owner = stage.owner.as_ref().map(|owner| owner.uid.as_str());
    let mut errors = remove(cluster, &stage.namespace, &selector, launched, owner).await;
    // The Secret is deleted even if pods stay, because nothing accepts these certificates any more.
    errors.extend(delete(cluster, &stage.namespace, Kind::Secret, names::CERTIFICATES_SECRET).await.err());
    errors
}

/// Deletes the objects of one plugin whose launch failed. `skip_cleanup` is ignored, because nobody
/// can use an incomplete plugin.
pub(super) async fn remove_one(cluster: &Cluster, namespace: &str, launched: &Launched) -> Vec<ClusterError> {
    let selector = format!("{}={}", names::SESSION_LABEL, launched.session);
    let launched = Launched { skip_cleanup: false, ..launched.clone() };
    remove(cluster, namespace, &selector, &[launched], None).await
}

async fn remove(
    cluster: &Cluster,
    namespace: &str,
    selector: &str,
    launched: &[Launched],
    owner: Option<&str>,
) -> Vec<ClusterError> {
    let mut errors = Vec::new();
    for kind in [Kind::DaemonSet, Kind::Pod] {
        let what = format!("list {}s of plugins in namespace `{namespace}`", kind.word());
        let path = kind.path(namespace);
        let listing = Listing {
            what: &what,
            path: &path,
            labels: Some(selector),
            page: PAGE,
            metadata_only: true,
            patience: PATIENCE,
        };
        // With a DaemonSet there may be thousands of pods, which are deleted with it. They are not
        // kept in memory.
        let to_go = |object| Some(Value::Object(object)).filter(|object| is_to_go(object, launched, owner));
        let objects = match list(cluster, &listing, to_go).await {
            Ok(objects) => objects,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        for object in objects.into_iter().flatten() {
            let Some(name) = text(&object, &["metadata", "name"]) else { continue };
            errors.extend(delete(cluster, namespace, kind, name).await.err());
        }
    }
    errors
}

/// Returns true if a pod or DaemonSet is to be deleted. Pods of a DaemonSet are deleted with it.
fn is_to_go(object: &Value, launched: &[Launched], owner: Option<&str>) -> bool {
    let owners: Vec<&Map<String, Value>> = object
        .get("metadata")
        .and_then(|metadata| metadata.get("ownerReferences"))
        .and_then(Value::as_array)
        .map(|owners| owners.iter().filter_map(Value::as_object).collect())
        .unwrap_or_default();
    if owners.iter().any(|owner| owner.get("controller") == Some(&Value::Bool(true))) {
        return false;
    }
    let session = text(object, &["metadata", "labels", names::SESSION_LABEL]);
    match launched.iter().find(|it| Some(it.session.as_str()) == session) {
        Some(it) => !it.skip_cleanup,
        None => {
            let ours =
                owner.is_some() && owners.iter().any(|reference| reference.get("uid").and_then(Value::as_str) == owner);
            ours && text(object, &["metadata", "annotations", SKIP_CLEANUP_ANNOTATION]) != Some("true")
        }
    }
}

async fn delete(cluster: &Cluster, namespace: &str, kind: Kind, name: &str) -> Result<(), ClusterError> {
    let what = format!("delete {} `{name}` in namespace `{namespace}`", kind.word());
    let params = DeleteParams {
        grace_period_seconds: match kind {
            Kind::Pod => Some(POD_GRACE),
            Kind::DaemonSet => Some(DAEMON_SET_GRACE),
            Kind::Secret => None,
        },
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    let request = kube::core::Request::new(kind.path(namespace))
        .delete(name, &params)
        .map_err(|error| ClusterError::new(&what, error.to_string()))?;
    // A conflict is over as soon as another writer has finished.
    match retry_until(PATIENCE, || send_with_retry(cluster, &what, PATIENCE, &request)).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_this_run_made_and_nobody_keeps_goes() {
        let launched = |session: &str, skip_cleanup| Launched { session: session.to_owned(), skip_cleanup };
        let launched = [launched("a", false), launched("kept", true)];
        let object = |session: &str, owner: &Value, skip: bool| {
            let mut metadata = json!({"labels": {"sonobuoy-run": session}, "ownerReferences": [owner]});
            if skip {
                metadata["annotations"] = json!({SKIP_CLEANUP_ANNOTATION: "true"});
            }
            json!({"metadata": metadata})
        };
        let (mine, other) = (json!({"uid": "u1"}), json!({"uid": "u2"}));
        let controlled = json!({"uid": "u1", "controller": true});
        for (object, expected) in [
            (object("a", &other, false), true),
            (object("a", &controlled, false), false),
            (object("kept", &mine, false), false),
            (object("earlier", &mine, false), true),
            (object("earlier", &mine, true), false),
            (object("foreign", &other, false), false),
            (json!({}), false),
        ] {
            assert_eq!(is_to_go(&object, &launched, Some("u1")), expected, "{object}");
        }
        assert!(!is_to_go(&object("earlier", &mine, false), &launched, None));
    }
}
