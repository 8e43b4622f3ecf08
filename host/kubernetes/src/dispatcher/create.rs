//! Creates one object, or adopts an existing one.

use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use http::Request;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::retry::{PATIENCE, send_with_retry};

/// Interval between checks of an object from an earlier attempt that is being deleted.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Grace period in seconds for a pod of an earlier aggregator. Nothing would receive what it still
/// sends.
const ORPHAN_GRACE: u32 = 1;

/// The kinds of objects of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Secret,
    Pod,
    DaemonSet,
}

impl Kind {
    /// Returns the path of the collection in a namespace.
    pub(super) fn path(self, namespace: &str) -> String {
        match self {
            Self::Secret => format!("/api/v1/namespaces/{namespace}/secrets"),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
            Self::DaemonSet => format!("/apis/apps/v1/namespaces/{namespace}/daemonsets"),
        }
    }

    /// Returns the name of the kind for messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::Pod => "pod",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

/// The outcome of a creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Created {
    /// The object was created.
    New,
    /// The object already existed: an earlier life of this aggregator created it, or a request
    /// whose response was lost.
    Adopted,
}

/// Creates `object`, or adopts the existing one if it has the same plugin and session.
///
/// If the existing object is being deleted, this waits until it is gone. If its owner is gone, this
/// deletes it, as the cluster is about to do.
pub(super) async fn create(
    cluster: &Cluster,
    namespace: &str,
    kind: Kind,
    object: &Value,
) -> Result<Created, ClusterError> {
    let deadline = Instant::now() + PATIENCE;
    (|| create_or_adopt(cluster, namespace, kind, object))
        .retry(ConstantBuilder::new().with_delay(LOOK_AGAIN).without_max_times())
        .when(|obstacle: &Obstacle| matches!(obstacle, Obstacle::Passing(_)) && Instant::now() < deadline)
        .await
        .map_err(|(Obstacle::Passing(error) | Obstacle::ActiveProblem(error))| error)
}

/// Why an object was neither created nor adopted.
enum Obstacle {
    /// The object may be gone at the next check.
    Passing(ClusterError),
    ActiveProblem(ClusterError),
}

impl Obstacle {
    /// A conflict is temporary: plugins that are launched at once share a Secret.
    fn of(error: ClusterError) -> Self {
        if error.is_conflict() { Self::Passing(error) } else { Self::ActiveProblem(error) }
    }
}

async fn create_or_adopt(cluster: &Cluster, namespace: &str, kind: Kind, object: &Value) -> Result<Created, Obstacle> {
    let name = text(object, &["metadata", "name"]).unwrap_or_default();
    let what = format!("create {} `{name}` in namespace `{namespace}`", kind.word());
    let unusable = |error: &dyn std::error::Error| Obstacle::ActiveProblem(ClusterError::new(&what, error.to_string()));
    let collection = kube::core::Request::new(kind.path(namespace));
    let body = serde_json::to_vec(object).map_err(|error| unusable(&error))?;
    let request = collection.create(&PostParams::default(), body).map_err(|error| unusable(&error))?;
    let conflict = match send_with_retry(cluster, &what, PATIENCE, &request).await {
        Ok(_) => return Ok(Created::New),
        Err(error) if error.is_conflict() => error,
        Err(error) => return Err(Obstacle::ActiveProblem(error)),
    };

    let request = collection.get(name, &GetParams::default()).map_err(|error| unusable(&error))?;
    let found = match send_with_retry(cluster, &format!("look at {} `{name}`", kind.word()), PATIENCE, &request).await {
        Ok(found) => found,
        // The object was deleted in between, or the conflict had another cause. Quota accounting
        // causes such conflicts, and they pass.
        Err(error) if error.is_not_found() => return Err(Obstacle::Passing(conflict)),
        Err(error) => return Err(Obstacle::of(error)),
    };
    let labels: &[&str] = match kind {
        Kind::Secret => &[names::COMPONENT_LABEL],
        Kind::Pod | Kind::DaemonSet => &[names::SESSION_LABEL, names::PLUGIN_LABEL],
    };
    let same = labels.iter().all(|label| {
        let label = |object| text(object, &["metadata", "labels", label]).map(str::to_owned);
        label(object).is_some() && label(object) == label(&found)
    });
    if !same {
        let cause = "there is one of that name, and it does not belong to this run";
        return Err(Obstacle::ActiveProblem(ClusterError::new(what, cause).hint("delete it, if nobody needs it")));
    }
    if is_orphan(&found, object) || is_of_another_run(&found, object) {
        remove(cluster, &collection, kind, name, &found).await.map_err(Obstacle::ActiveProblem)?;
        let cause = "the one of an aggregator that is gone is being deleted, and that takes long";
        return Err(Obstacle::Passing(ClusterError::new(what, cause)));
    }
    if text(&found, &["metadata", "deletionTimestamp"]).is_some() {
        return Err(Obstacle::Passing(
            ClusterError::new(what, "the one of an earlier attempt is being deleted, and that takes long")
                .hint(format!("look at the finalizers of {} `{name}`, and at the node that it runs on", kind.word())),
        ));
    }
    if kind == Kind::Secret {
        let request = refresh(&collection, name, object).map_err(|error| unusable(&error))?;
        send_with_retry(cluster, &format!("update Secret `{name}` in namespace `{namespace}`"), PATIENCE, &request)
            .await
            .map_err(Obstacle::of)?;
    }
    Ok(Created::Adopted)
}

/// Returns true if the owner of `found` has the name of our owner but another UID.
///
/// Of two pods with one name, the other one is gone, and the cluster deletes what it owned. If such
/// an object were adopted, it would disappear in the middle of its work.
fn is_orphan(found: &Value, object: &Value) -> bool {
    let owner = |object: &Value| {
        let owner = object.pointer("/metadata/ownerReferences/0")?;
        let word = |key: &str| owner.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((word("kind")?, word("name")?, word("uid")?))
    };
    match (owner(found), owner(object)) {
        (Some((kind, name, uid)), Some((our_kind, our_name, our_uid))) => {
            (kind, name) == (our_kind, our_name) && uid != our_uid
        }
        _ => false,
    }
}

/// Returns true if `found` carries the ID of another run. There is only one run per namespace, so
/// that run is over.
fn is_of_another_run(found: &Value, object: &Value) -> bool {
    let run = |object| text(object, &["metadata", "annotations", names::RUN_ANNOTATION]).map(str::to_owned);
    run(object).is_some() && run(object) != run(found)
}

/// Deletes an object, but only if it is still the one that was found.
async fn remove(
    cluster: &Cluster,
    collection: &kube::core::Request,
    kind: Kind,
    name: &str,
    found: &Value,
) -> Result<(), ClusterError> {
    let what = format!("delete {} `{name}` of an aggregator that is gone", kind.word());
    let params = DeleteParams {
        grace_period_seconds: (kind != Kind::Secret).then_some(ORPHAN_GRACE),
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: text(found, &["metadata", "uid"]).map(str::to_owned),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let request = collection.delete(name, &params).map_err(|error| ClusterError::new(&what, error.to_string()))?;
    match send_with_retry(cluster, &what, PATIENCE, &request).await {
        // Another process deleted it first.
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// Builds a patch with a new certificate and the current owner.
///
/// A certificate is signed again at every launch. Pods that do not exist yet need one from the CA
/// that they are told to trust.
fn refresh(
    collection: &kube::core::Request,
    name: &str,
    object: &Value,
) -> Result<Request<Vec<u8>>, kube::core::request::Error> {
    let mut patch = json!({"data": object.get("data")});
    let owners = object.get("metadata").and_then(|metadata| metadata.get("ownerReferences"));
    if let (Some(owners), Value::Object(patch)) = (owners, &mut patch) {
        patch.insert("metadata".to_owned(), json!({"ownerReferences": owners}));
    }
    collection.patch(name, &PatchParams::default(), &Patch::Merge(patch))
}

/// Returns the string at a path of keys.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(object, |value, key| value.get(key))?.as_str()
}
