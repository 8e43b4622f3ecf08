//! Creates the objects of a run in order, and rolls back if one fails.
//!
//! `kubectl delete namespace` leaves cluster roles and bindings of an earlier run behind. Such an
//! object is compared with the needed one, and replaced if it differs. If a creation succeeds but
//! its response is lost, an annotation identifies the object.
//!
//! Another command may create a run in the same namespace at the same time. A roll-back leaves what
//! that run needs.

use std::collections::BTreeSet;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, DynamicObject, ObjectMeta, PostParams, Preconditions};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, ResourceExt as _};
use plumbline_core::RunId;
use plumbline_core::text::listed;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::cluster::Cluster;
use crate::delete::find_object_of_run;
use crate::error::ClusterError;
use crate::names;

/// Maximum number of retries of a request while the server is busy or briefly unreachable.
const ATTEMPTS: usize = 5;

/// How long a roll-back may take. Users wait for it, and an API server may be why the start failed.
const ROLL_BACK: Duration = Duration::from_secs(60);

/// The part of that time for one object, so that one that is stuck leaves time for others.
const SHARE: u32 = 3;

/// Maximum number of objects in a message.
const MAX_LISTED: usize = 10;

/// Annotation on every object that one command creates, with the same value on each.
const CREATION_ANNOTATION: &str = "plumbline.dev/creation";

/// What happens, or would happen, to one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The object is created.
    Create,
    /// The object is cluster-wide and left from an earlier run with different content, and is
    /// replaced.
    Update,
    /// The object stays: it is a namespace, or cluster-wide with the same content.
    Keep,
}

/// A change that was made, with what is needed to undo it.
struct Done<'a> {
    object: &'a Value,
    /// The replaced object, or `None` if the object was created.
    before: Option<Box<DynamicObject>>,
    /// The UID of the created object.
    uid: Option<String>,
}

/// Identifies the objects that one command created.
struct Own<'a> {
    creation: &'a str,
    uids: BTreeSet<String>,
}

impl Own<'_> {
    /// Returns true for an object that the command created, or that one of its objects owns.
    fn has(&self, metadata: &ObjectMeta) -> bool {
        let annotation = metadata.annotations.as_ref().and_then(|all| all.get(CREATION_ANNOTATION));
        let is_created = annotation.is_some_and(|creation| creation == self.creation);
        is_created || metadata.owner_references.iter().flatten().any(|owner| self.uids.contains(&owner.uid))
    }
}

/// Creates `objects` in order, and calls `on_change` for each with its title and the change.
///
/// # Errors
/// Returns the first failure. Earlier changes are rolled back as far as possible in a minute. The hint
/// has what is left.
pub async fn create(
    cluster: &Cluster,
    objects: &[Value],
    on_change: impl FnMut(&str, Change),
) -> Result<(), ClusterError> {
    create_within(cluster, objects, ROLL_BACK, on_change).await
}

/// Creates objects as [`create`] does. A roll-back takes at most `limit`.
///
/// # Errors
/// Returns the same errors as [`create`].
pub async fn create_within(
    cluster: &Cluster,
    objects: &[Value],
    limit: Duration,
    mut on_change: impl FnMut(&str, Change),
) -> Result<(), ClusterError> {
    let creation = RunId::random().to_string();
    let mut done: Vec<Done<'_>> = Vec::new();
    for object in objects {
        match create_one(cluster, object, &creation).await {
            Ok((change, made)) => {
                on_change(&title(object), change);
                done.extend(made);
            }
            Err(error) => {
                let left = roll_back(cluster, done, &creation, limit).await;
                return Err(with_left_behind(error, &left));
            }
        }
    }
    Ok(())
}

/// Returns what [`create`] would do with `object`. An object that cannot be read counts as absent.
///
/// # Errors
/// Returns an error if an object of that name exists and [`create`] would fail because of it.
pub async fn plan_creation(cluster: &Cluster, object: &Value) -> Result<Change, ClusterError> {
    let (api, wanted) = target(cluster, object)?;
    match api.get_opt(&wanted.name_any()).await {
        Ok(Some(found)) => compare(object, &found),
        Ok(None) | Err(_) => Ok(Change::Create),
    }
}

/// Returns the change, and how to undo it unless the object stays as it was.
async fn create_one<'a>(
    cluster: &Cluster,
    object: &'a Value,
    creation: &str,
) -> Result<(Change, Option<Done<'a>>), ClusterError> {
    let (api, mut wanted) = target(cluster, object)?;
    wanted.annotations_mut().insert(CREATION_ANNOTATION.to_owned(), creation.to_owned());
    let parameters = PostParams::default();
    let failed = |error: &kube::Error| ClusterError::api(format!("create {}", title(object)), error);
    let made = |made: DynamicObject| Some(Done { object, before: None, uid: made.metadata.uid });
    let conflict = match retried(|| async { api.create(&parameters, &wanted).await }).await {
        Ok(created) => return Ok((Change::Create, made(created))),
        Err(kube::Error::Api(status)) if status.code == 409 => kube::Error::Api(status),
        Err(error) => return Err(failed(&error)),
    };
    let name = wanted.name_any();
    let found = match retried(|| async { api.get(&name).await }).await {
        Ok(found) => found,
        // Users without permission to get a namespace may still be able to use it.
        Err(_) if object.get("kind") == Some(&json!("Namespace")) => return Ok((Change::Keep, None)),
        Err(_) => return Err(failed(&conflict).hint(left_over(object))),
    };
    if is_of(&found, creation) {
        // The first attempt succeeded, but its response was lost.
        return Ok((Change::Create, made(found)));
    }
    let change = compare(object, &found)?;
    if change != Change::Update {
        return Ok((change, None));
    }
    wanted.metadata.resource_version.clone_from(&found.metadata.resource_version);
    if let Err(error) = retried(|| async { api.replace(&name, &parameters, &wanted).await }).await {
        let is_conflict = matches!(&error, kube::Error::Api(status) if status.code == 409);
        // The first attempt may have succeeded, with its response lost.
        let now = if is_conflict { retried(|| async { api.get(&name).await }).await.ok() } else { None };
        if now.is_none_or(|now| !is_of(&now, creation)) {
            return Err(ClusterError::api(format!("update {}", title(object)), &error));
        }
    }
    Ok((change, Some(Done { object, before: Some(Box::new(found)), uid: None })))
}

/// Returns whether an object has the annotation of a command.
fn is_of(object: &DynamicObject, creation: &str) -> bool {
    object.annotations().get(CREATION_ANNOTATION).map(String::as_str) == Some(creation)
}

async fn retried<T, F>(attempt: impl FnMut() -> F) -> kube::Result<T>
where
    F: Future<Output = kube::Result<T>>,
{
    let pauses = ExponentialBuilder::default().with_min_delay(Duration::from_millis(300)).with_max_times(ATTEMPTS);
    attempt.retry(pauses).when(|error| ClusterError::api("", error).is_transient()).await
}

/// Returns the required change when `found` has the name of `object`.
fn compare(object: &Value, found: &DynamicObject) -> Result<Change, ClusterError> {
    let same = match object.get("kind").and_then(Value::as_str) {
        Some("Namespace") => return Ok(Change::Keep),
        Some("ClusterRole") => same::<ClusterRole, _>(object, found, |role| (role.rules, role.aggregation_rule)),
        Some("ClusterRoleBinding") => same::<ClusterRoleBinding, _>(object, found, |it| (it.role_ref, it.subjects)),
        _ => {
            let error = ClusterError::new(format!("create {}", title(object)), "it already exists");
            return Err(error.hint(left_over(object)));
        }
    };
    if same {
        return Ok(Change::Keep);
    }
    let label = |key: &str| found.labels().get(key).map(String::as_str);
    let namespace = object.pointer(&format!("/metadata/labels/{}", names::NAMESPACE_LABEL)).and_then(Value::as_str);
    if label(names::COMPONENT_LABEL) == Some(names::COMPONENT_VALUE) && label(names::NAMESPACE_LABEL) == namespace {
        return Ok(Change::Update);
    }
    let error = ClusterError::new(
        format!("create {}", title(object)),
        "an object of that name exists with other content, and without the labels of this namespace",
    );
    Err(error.hint("delete or rename it, or use another namespace with `-n`"))
}

/// Returns true if both have the same content when parsed as their kind.
fn same<K: DeserializeOwned, T: PartialEq>(object: &Value, found: &DynamicObject, content: fn(K) -> T) -> bool {
    let found = serde_json::to_value(found).and_then(serde_json::from_value);
    match (serde_json::from_value(object.clone()), found) {
        (Ok(object), Ok(found)) => content(object) == content(found),
        _ => false,
    }
}

/// Returns the hint for an object that already exists.
fn left_over(object: &Value) -> String {
    let option = namespace_option(run_namespace(object));
    format!(
        "it belongs to an earlier or active run: see the run with `plumbline status{option}`, or remove it with `plumbline delete{option}`"
    )
}

/// Returns the namespace of the run that needs `object`.
fn run_namespace(object: &Value) -> Option<&str> {
    let metadata = object.get("metadata")?;
    let found = match object.get("kind").and_then(Value::as_str) {
        Some("Namespace") => metadata.get("name"),
        _ => metadata.get("namespace").or_else(|| metadata.get("labels")?.get(names::NAMESPACE_LABEL)),
    };
    found?.as_str()
}

/// Returns the option with which a command finds the run in `namespace`.
fn namespace_option(namespace: Option<&str>) -> String {
    let other = namespace.filter(|namespace| *namespace != names::DEFAULT_NAMESPACE);
    other.map(|namespace| format!(" -n {namespace}")).unwrap_or_default()
}

/// Undoes changes for at most `limit`, the last one first. Returns the objects that are left.
async fn roll_back<'a>(cluster: &Cluster, done: Vec<Done<'a>>, creation: &str, limit: Duration) -> Vec<&'a Value> {
    let own = Own { creation, uids: done.iter().filter_map(|done| done.uid.clone()).collect() };
    let end = Instant::now() + limit;
    let mut left = Vec::new();
    for change in done.into_iter().rev() {
        let (object, title) = (change.object, title(change.object));
        let time = end.saturating_duration_since(Instant::now()).min(limit / SHARE);
        let undone = match time.is_zero() {
            true => None,
            false => timeout(time, undo(cluster, change, &own)).await.ok(),
        };
        match undone {
            Some(Ok(Undone::Stays)) => continue,
            Some(Ok(Undone::Yes)) => {
                // What is in a namespace goes with it.
                let name = object.pointer("/metadata/name").filter(|_| object.get("kind") == Some(&json!("Namespace")));
                left.retain(|left: &&Value| name.is_none() || left.pointer("/metadata/namespace") != name);
                continue;
            }
            Some(Err(error)) => {
                tracing::warn!("failed to roll back {title}: {error}");
                // It is gone, or somebody created it again.
                if error.is_not_found() || error.is_conflict() {
                    continue;
                }
            }
            None => tracing::warn!("failed to roll back {title}: there was no time left"),
        }
        left.push(object);
    }
    left
}

/// What became of a change that was to be undone.
enum Undone {
    Yes,
    /// Another run needs its result.
    Stays,
}

/// Adds what a roll-back left to the hint of `error`.
fn with_left_behind(error: ClusterError, left: &[&Value]) -> ClusterError {
    if left.is_empty() {
        return error;
    }
    let titles: Vec<String> = left.iter().map(|object| title(object)).collect();
    let option = namespace_option(left.iter().find_map(|object| run_namespace(object)));
    let left = listed(&titles, MAX_LISTED, ", ");
    let more =
        format!("the roll-back left objects of this run behind, remove them with `plumbline delete{option}`: {left}");
    let hint = error.hint.as_ref().map_or_else(|| more.clone(), |hint| format!("{hint}; {more}"));
    error.hint(hint)
}

/// Undoes a change, unless another run in the namespace needs its result. What may be needed stays
/// if the content of the namespace is unknown.
async fn undo(cluster: &Cluster, change: Done<'_>, own: &Own<'_>) -> Result<Undone, ClusterError> {
    let Done { object, before, uid } = change;
    let (api, dynamic) = target(cluster, object)?;
    let name = dynamic.name_any();
    if let Some(namespace) = shared_by_runs_in(&dynamic)
        && let Some(other) = find_object_of_run(cluster, &namespace, |metadata| own.has(metadata)).await?
    {
        tracing::warn!("{} stays: another run has {other}", title(object));
        return Ok(Undone::Stays);
    }
    let undone = match before {
        None => {
            let same = Preconditions { uid, resource_version: None };
            api.delete(&name, &DeleteParams::background().preconditions(same)).await.map(drop)
        }
        Some(mut before) => {
            before.metadata.resource_version = None;
            api.replace(&name, &PostParams::default(), &before).await.map(drop)
        }
    };
    let undone = undone.map(|()| Undone::Yes);
    undone.map_err(|error| ClusterError::api(format!("undo the change of {}", title(object)), &error))
}

/// Returns the namespace whose runs share an object: [`compare`] lets them keep a namespace, and
/// cluster-wide roles and bindings. They have no other object in common.
fn shared_by_runs_in(object: &DynamicObject) -> Option<String> {
    if object.types.as_ref().is_some_and(|types| types.kind == "Namespace") {
        return object.metadata.name.clone();
    }
    let is_cluster_wide = object.metadata.namespace.is_none();
    object.labels().get(names::NAMESPACE_LABEL).filter(|_| is_cluster_wide).cloned()
}

fn target(cluster: &Cluster, object: &Value) -> Result<(Api<DynamicObject>, DynamicObject), ClusterError> {
    let failed = |cause: String| ClusterError::new(format!("create {}", title(object)), cause);
    let dynamic: DynamicObject = serde_json::from_value(object.clone())
        .map_err(|error| failed(format!("it is not a Kubernetes object: {error}")))?;
    let resource = resource_of(&dynamic).ok_or_else(|| failed("it has no `apiVersion` and `kind`".to_owned()))?;
    let api = match &dynamic.metadata.namespace {
        Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &resource),
        None => Api::all_with(cluster.client(), &resource),
    };
    Ok((api, dynamic))
}

/// Returns the resource of an object, if it has `apiVersion` and `kind`.
pub(crate) fn resource_of(object: &DynamicObject) -> Option<ApiResource> {
    let kind = GroupVersionKind::try_from(object.types.clone()?).ok()?;
    Some(ApiResource::from_gvk(&kind))
}

/// Returns a title for messages, such as ``pod `sonobuoy` in namespace `x` ``.
#[must_use]
pub fn title(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("object").to_lowercase();
    let name = text("/metadata/name").unwrap_or("?");
    match text("/metadata/namespace") {
        Some(namespace) => format!("{kind} `{name}` in namespace `{namespace}`"),
        None => format!("{kind} `{name}`"),
    }
}
