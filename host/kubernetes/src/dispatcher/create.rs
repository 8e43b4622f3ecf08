//! Creating one object, or finding that it is there already.

use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use http::Request;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::insist::{PATIENCE, insist};
use crate::names;

/// Between two looks at an object of an earlier attempt that is on its way out.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What a pod of an earlier aggregator gets to end, in seconds: whatever it may still send has nobody left to take it.
const ORPHAN_GRACE: u32 = 1;

/// Kinds of objects that a plugin consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Secret,
    Pod,
    DaemonSet,
}

impl Kind {
    /// The path of the collection in a namespace.
    pub(super) fn path(self, namespace: &str) -> String {
        match self {
            Self::Secret => format!("/api/v1/namespaces/{namespace}/secrets"),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
            Self::DaemonSet => format!("/apis/apps/v1/namespaces/{namespace}/daemonsets"),
        }
    }

    /// For messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::Pod => "pod",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Created {
    /// It is new.
    New,
    /// It was there: made by an earlier life of this aggregator, or by a request whose answer was lost.
    Adopted,
}

/// Creates `object`, or adopts the one of that name if it is of the same plugin and session. One that is being deleted is waited for; one
/// whose owner is gone is deleted: the cluster is about to do the same.
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
        .map_err(|(Obstacle::Passing(error) | Obstacle::Lasting(error))| error)
}

/// Why an object was neither created nor adopted.
enum Obstacle {
    /// Another look may find it gone.
    Passing(ClusterError),
    Lasting(ClusterError),
}

impl Obstacle {
    /// A conflict passes: plugins that are launched at once share a Secret.
    fn of(error: ClusterError) -> Self {
        if error.is_conflict() { Self::Passing(error) } else { Self::Lasting(error) }
    }
}

async fn create_or_adopt(cluster: &Cluster, namespace: &str, kind: Kind, object: &Value) -> Result<Created, Obstacle> {
    let name = text(object, &["metadata", "name"]).unwrap_or_default();
    let what = format!("create {} `{name}` in namespace `{namespace}`", kind.word());
    let unusable = |error: &dyn std::error::Error| Obstacle::Lasting(ClusterError::new(&what, error.to_string()));
    let collection = kube::core::Request::new(kind.path(namespace));
    let body = serde_json::to_vec(object).map_err(|error| unusable(&error))?;
    let request = collection.create(&PostParams::default(), body).map_err(|error| unusable(&error))?;
    let conflict = match insist(cluster, &what, PATIENCE, &request).await {
        Ok(_) => return Ok(Created::New),
        Err(error) if error.is_conflict() => error,
        Err(error) => return Err(Obstacle::Lasting(error)),
    };

    let request = collection.get(name, &GetParams::default()).map_err(|error| unusable(&error))?;
    let found = match insist(cluster, &format!("look at {} `{name}`", kind.word()), PATIENCE, &request).await {
        Ok(found) => found,
        // Gone in between; or the conflict was another one: counting against a quota gives such, and passes.
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
        return Err(Obstacle::Lasting(ClusterError::new(what, cause).hint("delete it, if nobody needs it")));
    }
    if is_orphan(&found, object) || is_of_another_run(&found, object) {
        remove(cluster, &collection, kind, name, &found).await.map_err(Obstacle::Lasting)?;
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
        insist(cluster, &format!("update Secret `{name}` in namespace `{namespace}`"), PATIENCE, &request)
            .await
            .map_err(Obstacle::of)?;
    }
    Ok(Created::Adopted)
}

/// Whether `found` belongs to a pod of our owner's name that is not our owner. Of two pods of one name the other one is gone, and what it
/// owned goes too: adopted, it would be lost in the middle of its work.
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

/// Whether `found` says that it belongs to another run, which is over: there is one run in a namespace.
fn is_of_another_run(found: &Value, object: &Value) -> bool {
    let run = |object| text(object, &["metadata", "annotations", names::RUN_ANNOTATION]).map(str::to_owned);
    run(object).is_some() && run(object) != run(found)
}

/// Deletes an object, and only if it is still the one that was found.
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
    match insist(cluster, &what, PATIENCE, &request).await {
        // Somebody else was faster.
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// A certificate is signed anew whenever a plugin is launched: pods that are yet to be made get one of the authority that they are told
/// to trust, and an owner that is there.
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

/// The text at a path of keys.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(object, |value, key| value.get(key))?.as_str()
}
