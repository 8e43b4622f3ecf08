//! The objects that the aggregator creates in its namespace: it creates or adopts them, and deletes
//! them when the run is over.

use std::collections::BTreeMap;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use plumbline_core::{PluginName, RunId, session_id};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::driver::{SKIP_CLEANUP_ANNOTATION, Stage, URL_VARIABLE};
use crate::error::ClusterError;
use crate::names;
use crate::parts::{name, put};
use crate::retry::{Listing, PATIENCE, Refusal, list, retry_while, send_with_retry};

/// Interval between checks of an object from an earlier attempt that is being deleted. The first
/// intervals are shorter.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Grace period in seconds for a pod of an earlier aggregator. Nothing would receive what it still
/// sends.
const ORPHAN_GRACE: u32 = 1;

/// Grace period of a Job's pod in seconds: the time for which a worker still waits for its plugin.
const POD_GRACE: u32 = 60;

/// Grace period of a DaemonSet in seconds. It has nothing to do itself, and its pods keep their own
/// grace period.
const DAEMON_SET_GRACE: u32 = 1;

/// How long each cleanup request is retried. A complete run must not wait long for objects that are
/// deleted with its namespace anyway.
const CLEANUP_PATIENCE: Duration = Duration::from_secs(30);

/// The kinds of objects that the aggregator creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Secret,
    ConfigMap,
    Pod,
    DaemonSet,
}

impl Kind {
    /// Returns the path of the collection in a namespace.
    pub(crate) fn path(self, namespace: &str) -> String {
        match self {
            Self::Secret => format!("/api/v1/namespaces/{namespace}/secrets"),
            Self::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps"),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
            Self::DaemonSet => format!("/apis/apps/v1/namespaces/{namespace}/daemonsets"),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::Pod => "pod",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Created {
    /// The object was created.
    New,
    /// The object already existed: an earlier life of this aggregator created it, or a request
    /// whose response was lost.
    Adopted,
}

/// Why an object was neither created nor adopted.
struct Obstacle {
    error: ClusterError,
    /// Whether it may be gone at the next check.
    passes: bool,
}

impl From<ClusterError> for Obstacle {
    /// A conflict is temporary: plugins that are launched at once share a Secret.
    fn from(error: ClusterError) -> Self {
        Self { passes: error.is_conflict(), error }
    }
}

/// Creates `object`, or adopts the existing one if it has the same plugin and session.
///
/// If the existing object is being deleted, this waits until it is gone. If its owner is gone, it
/// belongs to an earlier run, or its workers know another address of the aggregator, this deletes
/// it. An adopted Secret gets the new data.
pub(crate) async fn create(
    cluster: &Cluster,
    namespace: &str,
    kind: Kind,
    object: &Value,
) -> Result<Created, ClusterError> {
    let deadline = Instant::now() + PATIENCE;
    let pauses = ExponentialBuilder::new().with_min_delay(LOOK_AGAIN / 20).with_max_delay(LOOK_AGAIN);
    (|| create_or_adopt(cluster, namespace, kind, object))
        .retry(pauses.without_max_times())
        .when(|obstacle: &Obstacle| obstacle.passes && Instant::now() < deadline)
        .await
        .map_err(|obstacle| obstacle.error)
}

/// Asks the API server whether it admits a pod of this DaemonSet, by a dry run.
///
/// The DaemonSet controller retries a refused pod for ever, and only its events say why.
///
/// # Errors
/// Returns a refusal that the controller would get too. Other failures are not errors: a quota may
/// have room later, and a webhook may judge by who asks, or may not support dry runs.
pub(crate) async fn check_admission(
    cluster: &Cluster,
    namespace: &str,
    daemon_set: &Value,
) -> Result<(), ClusterError> {
    let name = text(daemon_set, &["metadata", "name"]).unwrap_or_default();
    let template = |field: &str| daemon_set.pointer(&format!("/spec/template/{field}")).cloned().unwrap_or_default();
    let mut metadata = template("metadata");
    put(&mut metadata, "generateName", json!(format!("{name}-")));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template("spec")});
    let what = format!("create pods of DaemonSet `{name}` in namespace `{namespace}`");
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let request = kube::core::Request::new(Kind::Pod.path(namespace)).create(&dry_run, pod.to_string().into_bytes());
    match send_with_retry::<Value>(cluster, &what, PATIENCE, request).await {
        Err(error) if error.code == Some(422) => Err(error),
        Err(error) if error.code == Some(403) && !is_about_the_request(&error.cause) => Err(error),
        _ => Ok(()),
    }
}

/// Returns true if a refusal may depend on when and by whom the pod is created: a quota, the
/// permission to create pods, or a policy of the cluster's operator.
fn is_about_the_request(cause: &str) -> bool {
    let signs = ["exceeded quota", " cannot create resource ", "admission webhook ", "ValidatingAdmissionPolicy "];
    signs.iter().any(|sign| cause.contains(sign))
}

async fn create_or_adopt(cluster: &Cluster, namespace: &str, kind: Kind, object: &Value) -> Result<Created, Obstacle> {
    let name = text(object, &["metadata", "name"]).unwrap_or_default();
    let what = format!("create {} `{name}` in namespace `{namespace}`", kind.word());
    let collection = kube::core::Request::new(kind.path(namespace));
    let request = collection.create(&PostParams::default(), object.to_string().into_bytes());
    let conflict = match send_with_retry::<Value>(cluster, &what, PATIENCE, request).await {
        Ok(_) => return Ok(Created::New),
        // The aggregator may not read ConfigMaps. The process of a check compares their content with
        // a digest. Any other conflict passes.
        Err(error) if kind == Kind::ConfigMap && error.already_exists() => return Ok(Created::Adopted),
        Err(error) if kind == Kind::ConfigMap => return Err(error.into()),
        Err(error) if error.is_conflict() => error,
        Err(error) => return Err(error.into()),
    };
    // If there is none, the object was deleted in between, or the conflict had another cause. Quota
    // accounting causes such conflicts, and they pass.
    let look = format!("read {} `{name}`", kind.word());
    let found = get(cluster, namespace, kind, name, &look).await?.ok_or(conflict)?;
    let labels: &[&str] = match kind {
        Kind::Secret | Kind::ConfigMap => &[names::COMPONENT_LABEL],
        Kind::Pod | Kind::DaemonSet => &[names::SESSION_LABEL, names::PLUGIN_LABEL],
    };
    let same = labels.iter().all(|label| {
        let own = text(object, &["metadata", "labels", label]);
        own.is_some() && own == text(&found, &["metadata", "labels", label])
    });
    if !same {
        let cause = "an object of that name exists and does not belong to this run";
        return Err(ClusterError::new(what, cause).hint("delete it if it is no longer needed").lasting().into());
    }
    if is_orphan(&found, object) || is_of_another_run(&found, object) || has_another_address(&found, object) {
        remove(cluster, &collection, kind, name, &found).await?;
        let cause = "the object of an earlier aggregator is still being deleted";
        return Err(Obstacle { error: ClusterError::new(what, cause), passes: true });
    }
    if text(&found, &["metadata", "deletionTimestamp"]).is_some() {
        let error = ClusterError::new(what, "the object of an earlier attempt is still being deleted")
            .hint(format!("check the finalizers of {} `{name}`, and its node", kind.word()));
        return Err(Obstacle { error, passes: true });
    }
    if kind == Kind::Secret {
        // A certificate is signed again at every launch. Pods that do not exist yet need one from
        // the CA in their configuration.
        let owners = object.pointer("/metadata/ownerReferences");
        let metadata = owners.map(|owners| json!({"ownerReferences": owners})).unwrap_or_else(|| json!({}));
        let patch = Patch::Merge(json!({"data": object.get("data"), "metadata": metadata}));
        let what = format!("update Secret `{name}` in namespace `{namespace}`");
        let request = collection.patch(name, &PatchParams::default(), &patch);
        send_with_retry::<Value>(cluster, &what, PATIENCE, request).await?;
    }
    Ok(Created::Adopted)
}

/// Returns an object, or `None` if it does not exist. `what` completes the message "failed to …".
pub(crate) async fn get(
    cluster: &Cluster,
    namespace: &str,
    kind: Kind,
    name: &str,
    what: &str,
) -> Result<Option<Value>, ClusterError> {
    let request = kube::core::Request::new(kind.path(namespace)).get(name, &GetParams::default());
    match send_with_retry(cluster, what, PATIENCE, request).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if the owner of `found` has the name of our owner but another UID.
///
/// Of two pods with one name, the other one is gone, and the cluster deletes what it owned. If such
/// an object were adopted, it would disappear in the middle of its work.
fn is_orphan(found: &Value, object: &Value) -> bool {
    let differs = |field: &str| {
        let of = |object: &'_ Value| Some(object.pointer("/metadata/ownerReferences/0")?.get(field)?.clone());
        of(found).zip(of(object)).map(|(found, own)| found != own)
    };
    (differs("kind"), differs("name"), differs("uid")) == (Some(false), Some(false), Some(true))
}

/// Returns true if `found` carries the ID of another run. There is only one run per namespace, so
/// that run is over.
fn is_of_another_run(found: &Value, object: &Value) -> bool {
    let run = text(object, &["metadata", "annotations", names::RUN_ANNOTATION]);
    run.is_some() && run != text(found, &["metadata", "annotations", names::RUN_ANNOTATION])
}

/// Returns true if the workers of `found` connect to another address than those of `object`.
///
/// The address is that of the aggregator's pod, which another pod of a Job does not have, nor the
/// same pod after a restart of its node. The results of these workers would never arrive.
fn has_another_address(found: &Value, object: &Value) -> bool {
    let addresses = address_for_workers(found).zip(address_for_workers(object));
    addresses.is_some_and(|(found, own)| found != own)
}

/// Returns the address of the aggregator in the worker's container of a pod or DaemonSet.
fn address_for_workers(object: &Value) -> Option<&str> {
    let spec = object.pointer("/spec/template/spec").or_else(|| object.get("spec"))?;
    let containers = ["initContainers", "containers"].into_iter().filter_map(|list| spec.get(list)?.as_array());
    let worker = containers.flatten().find(|container| name(container) == Some(names::WORKER_CONTAINER))?;
    let mut variables = worker.get("env")?.as_array()?.iter();
    text(variables.find(|variable| name(variable) == Some(URL_VARIABLE))?, &["value"])
}

/// Deletes an object of an earlier aggregator, but only if it is still the one that was found.
async fn remove(
    cluster: &Cluster,
    collection: &kube::core::Request,
    kind: Kind,
    name: &str,
    found: &Value,
) -> Result<(), ClusterError> {
    let what = format!("delete {} `{name}` of an aggregator that is gone", kind.word());
    let uid = text(found, &["metadata", "uid"]).map(str::to_owned);
    let params = DeleteParams {
        grace_period_seconds: (kind != Kind::Secret).then_some(ORPHAN_GRACE),
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions { uid, resource_version: None }),
        ..DeleteParams::default()
    };
    match send_with_retry::<Value>(cluster, &what, PATIENCE, collection.delete(name, &params)).await {
        // Another process may have deleted it first.
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
        _ => Ok(()),
    }
}

/// The sessions of launched plugins, and whether their objects stay after the run.
pub(crate) type Launched = BTreeMap<String, bool>;

/// Deletes the pods and DaemonSets of the plugins in `launched` that do not ask to keep them, and
/// the Secret with their certificates.
///
/// Objects from an earlier life of the aggregator are deleted too, also if that was in another pod.
/// They are identified by their owner or their session. Objects that are already gone are fine.
/// Returns every failure, and none stops the cleanup.
///
/// Objects are listed and deleted one by one. That needs the permissions `list` and `delete`, but
/// not `deletecollection`.
pub(crate) async fn clean_up(cluster: &Cluster, stage: &Stage, launched: &Launched) -> Vec<ClusterError> {
    let owner = stage.owner.as_ref().map(|owner| owner.uid.as_str());
    let of_run = Some(OfRun { run: &stage.run, owner });
    let mut errors = delete_all(cluster, &stage.namespace, &names::plugin_pods_selector(), launched, of_run).await;
    // The Secret is deleted even if pods stay, because nothing accepts these certificates any more.
    errors.extend(delete(cluster, &stage.namespace, Kind::Secret, names::CERTIFICATES_SECRET).await.err());
    errors
}

/// Deletes the pod or DaemonSet of one plugin whose launch failed, unless it stays after the run. It
/// may be one that an earlier life of the aggregator launched, with logs that the user wants to see.
pub(crate) async fn clean_up_launch(
    cluster: &Cluster,
    namespace: &str,
    session: String,
    stays: bool,
) -> Vec<ClusterError> {
    if stays {
        return Vec::new();
    }
    let selector = format!("{}={session}", names::SESSION_LABEL);
    delete_all(cluster, namespace, &selector, &[(session, stays)].into(), None).await
}

/// Identifies the objects of a run that this process did not launch.
#[derive(Clone, Copy)]
struct OfRun<'a> {
    run: &'a RunId,
    /// The UID of the aggregator's pod.
    owner: Option<&'a str>,
}

impl OfRun<'_> {
    /// Returns true if `object`, which `owners` own, belongs to the run. If the run has continued in
    /// another pod, the owner of earlier objects is a pod that may exist for days.
    fn has(&self, object: &Value, owners: &[Value]) -> bool {
        let is_owned = self.owner.is_some() && owners.iter().any(|owner| text(owner, &["uid"]) == self.owner);
        let label = |key: &str| text(object, &["metadata", "labels", key]);
        let plugin = label(names::PLUGIN_LABEL).and_then(|plugin| plugin.parse::<PluginName>().ok());
        let session = plugin.map(|plugin| session_id(self.run, &plugin));
        is_owned || (session.is_some() && session.as_deref() == label(names::SESSION_LABEL))
    }
}

async fn delete_all(
    cluster: &Cluster,
    namespace: &str,
    selector: &str,
    launched: &Launched,
    of_run: Option<OfRun<'_>>,
) -> Vec<ClusterError> {
    let mut errors = Vec::new();
    for kind in [Kind::DaemonSet, Kind::Pod] {
        let what = format!("list {}s of plugins in namespace `{namespace}`", kind.word());
        let path = kind.path(namespace);
        let all = Listing::new(&what, &path);
        let listing = Listing { labels: Some(selector), metadata_only: true, patience: CLEANUP_PATIENCE, ..all };
        // With a DaemonSet there may be thousands of pods, which are deleted with it. They are not
        // kept in memory.
        let to_go = |object: Value| Some(object).filter(|object| is_to_go(object, launched, of_run));
        match list(cluster, &listing, to_go).await {
            Ok(objects) => {
                for object in objects.into_iter().flatten() {
                    let Some(name) = text(&object, &["metadata", "name"]) else { continue };
                    errors.extend(delete(cluster, namespace, kind, name).await.err());
                }
            }
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// Returns true if a pod or DaemonSet is to be deleted. Pods of a DaemonSet are deleted with it.
fn is_to_go(object: &Value, launched: &Launched, of_run: Option<OfRun<'_>>) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if owners.iter().any(|owner| owner.get("controller") == Some(&Value::Bool(true))) {
        return false;
    }
    match text(object, &["metadata", "labels", names::SESSION_LABEL]).and_then(|session| launched.get(session)) {
        Some(stays) => !stays,
        None => {
            of_run.is_some_and(|of_run| of_run.has(object, owners))
                && text(object, &["metadata", "annotations", SKIP_CLEANUP_ANNOTATION]) != Some("true")
        }
    }
}

pub(crate) async fn delete(cluster: &Cluster, namespace: &str, kind: Kind, name: &str) -> Result<(), ClusterError> {
    let what = format!("delete {} `{name}` in namespace `{namespace}`", kind.word());
    let params = DeleteParams {
        grace_period_seconds: match kind {
            Kind::Pod => Some(POD_GRACE),
            Kind::DaemonSet => Some(DAEMON_SET_GRACE),
            Kind::Secret | Kind::ConfigMap => None,
        },
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    let collection = kube::core::Request::new(kind.path(namespace));
    let act = || async {
        let request = collection.delete(name, &params);
        send_with_retry::<Value>(cluster, &what, CLEANUP_PATIENCE, request).await.map_err(Refusal::of)
    };
    // A conflict is over as soon as another writer has finished.
    let may_pass = |error: &ClusterError, _| error.is_transient() || error.is_conflict();
    match retry_while(CLEANUP_PATIENCE, may_pass, act).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Returns the string at a path of keys.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(object, |value, key| value.get(key))?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_objects_of_this_run_without_the_skip_annotation_are_removed() {
        let launched: Launched = [("a".to_owned(), false), ("kept".to_owned(), true)].into();
        let run = RunId::random();
        let of_run = |owner| Some(OfRun { run: &run, owner });
        let session = session_id(&run, &"p".parse().unwrap());
        let object = |session: &str, owner: &Value, skip: bool| {
            let mut metadata = json!({
                "labels": {"sonobuoy-run": session, "sonobuoy-plugin": "p"}, "ownerReferences": [owner]
            });
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
            (object(&session, &other, false), true),
            (object(&session, &other, true), false),
            (object(&session, &controlled, false), false),
            (json!({}), false),
        ] {
            assert_eq!(is_to_go(&object, &launched, of_run(Some("u1"))), expected, "{object}");
        }
        assert!(!is_to_go(&object("earlier", &mine, false), &launched, of_run(None)));
        assert!(!is_to_go(&object(&session, &mine, false), &launched, None), "only the failed launch goes");
    }
}
