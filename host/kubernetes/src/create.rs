//! Creates the objects of a run in order, and rolls back if one fails.
//!
//! `kubectl delete namespace` leaves cluster roles and bindings of an earlier run behind. Such an
//! object is compared with the needed one, and replaced if it differs. If a creation succeeds but
//! its response is lost, an annotation identifies the object.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use plumbline_core::RunId;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;

/// Maximum number of retries of a request while the server is busy or briefly unreachable.
const ATTEMPTS: usize = 5;

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

/// How to undo a change.
enum Undo<'a> {
    Delete(&'a Value),
    Restore(&'a Value, Box<DynamicObject>),
}

/// Creates `objects` in order. `told` is called for each object with its title and the change.
///
/// # Errors
/// Returns the first failure. Earlier changes are rolled back as far as possible.
pub async fn create(
    cluster: &Cluster,
    objects: &[Value],
    mut told: impl FnMut(&str, Change),
) -> Result<(), ClusterError> {
    let creation = RunId::random().to_string();
    let mut done: Vec<Undo<'_>> = Vec::new();
    for object in objects {
        match create_one(cluster, object, &creation).await {
            Ok((change, undo)) => {
                told(&title(object), change);
                done.extend(undo);
            }
            Err(error) => {
                roll_back(cluster, done).await;
                return Err(error);
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
    let name = wanted.metadata.name.as_deref().unwrap_or_default();
    match api.get_opt(name).await {
        Ok(Some(found)) => compare(object, &found),
        Ok(None) | Err(_) => Ok(Change::Create),
    }
}

async fn create_one<'a>(
    cluster: &Cluster,
    object: &'a Value,
    creation: &str,
) -> Result<(Change, Option<Undo<'a>>), ClusterError> {
    let (api, mut wanted) = target(cluster, object)?;
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(CREATION_ANNOTATION.to_owned(), creation.to_owned());
    let parameters = PostParams::default();
    let created = retried(|| async { api.create(&parameters, &wanted).await }).await;
    let conflict = match created {
        Ok(_) => return Ok((Change::Create, Some(Undo::Delete(object)))),
        Err(kube::Error::Api(status)) if status.code == 409 => kube::Error::Api(status),
        Err(error) => return Err(ClusterError::api(format!("create {}", title(object)), &error)),
    };
    let name = wanted.metadata.name.as_deref().unwrap_or_default();
    let found = match retried(|| async { api.get(name).await }).await {
        Ok(found) => found,
        // Users without permission to get a namespace may still be able to use it.
        Err(_) if is_namespace(object) => return Ok((Change::Keep, None)),
        Err(_) => {
            return Err(ClusterError::api(format!("create {}", title(object)), &conflict).hint(LEFT_OVER));
        }
    };
    let ours = found.metadata.annotations.as_ref().and_then(|all| all.get(CREATION_ANNOTATION));
    if ours.map(String::as_str) == Some(creation) {
        // The first attempt succeeded, but its response was lost.
        return Ok((Change::Create, Some(Undo::Delete(object))));
    }
    let change = compare(object, &found)?;
    if change != Change::Update {
        return Ok((change, None));
    }
    let mut replacement = wanted.clone();
    replacement.metadata.resource_version.clone_from(&found.metadata.resource_version);
    retried(|| async { api.replace(name, &parameters, &replacement).await })
        .await
        .map_err(|error| ClusterError::api(format!("update {}", title(object)), &error))?;
    Ok((change, Some(Undo::Restore(object, Box::new(found)))))
}

async fn retried<T, F>(attempt: impl FnMut() -> F) -> kube::Result<T>
where
    F: Future<Output = kube::Result<T>>,
{
    let pauses = ExponentialBuilder::default().with_min_delay(Duration::from_millis(300)).with_max_times(ATTEMPTS);
    attempt.retry(pauses).when(is_transient).await
}

/// Returns the required change when `found` has the name of `object`.
fn compare(object: &Value, found: &DynamicObject) -> Result<Change, ClusterError> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let same = match kind {
        "Namespace" => return Ok(Change::Keep),
        "ClusterRole" => same::<ClusterRole, _>(object, found, |role| (role.rules, role.aggregation_rule)),
        "ClusterRoleBinding" => same::<ClusterRoleBinding, _>(object, found, |it| (it.role_ref, it.subjects)),
        _ => {
            let error = ClusterError::new(format!("create {}", title(object)), "it already exists");
            return Err(error.hint(LEFT_OVER));
        }
    };
    if same {
        return Ok(Change::Keep);
    }
    let label = |key: &str| found.metadata.labels.as_ref()?.get(key).map(String::as_str);
    let namespace = object.pointer(&format!("/metadata/labels/{}", names::NAMESPACE_LABEL)).and_then(Value::as_str);
    if label(names::COMPONENT_LABEL) == Some(names::COMPONENT_VALUE) && label(names::NAMESPACE_LABEL) == namespace {
        return Ok(Change::Update);
    }
    let error = ClusterError::new(
        format!("create {}", title(object)),
        "one of that name exists with other content, and its labels do not say that it belongs to this namespace",
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

const LEFT_OVER: &str = "it was left by an earlier run, or belongs to one that is under way: `plumbline status` shows it, `plumbline delete` removes it";

fn is_namespace(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Namespace")
}

fn is_transient(error: &kube::Error) -> bool {
    ClusterError::api("", error).is_transient()
}

async fn roll_back(cluster: &Cluster, done: Vec<Undo<'_>>) {
    for undo in done.into_iter().rev() {
        let (Undo::Delete(object) | Undo::Restore(object, _)) = &undo;
        let Ok((api, dynamic)) = target(cluster, object) else { continue };
        let name = dynamic.metadata.name.as_deref().unwrap_or_default();
        let undone = match &undo {
            Undo::Delete(_) => api.delete(name, &DeleteParams::background()).await.map(drop),
            Undo::Restore(_, before) => {
                let mut before = before.clone();
                before.metadata.resource_version = None;
                api.replace(name, &PostParams::default(), &before).await.map(drop)
            }
        };
        if let Err(error) = undone {
            tracing::warn!("{}", ClusterError::api(format!("undo the change of {}", title(object)), &error));
        }
    }
}

fn target(cluster: &Cluster, object: &Value) -> Result<(Api<DynamicObject>, DynamicObject), ClusterError> {
    let what = || format!("create {}", title(object));
    let dynamic: DynamicObject = serde_json::from_value(object.clone())
        .map_err(|error| ClusterError::new(what(), format!("it is not a Kubernetes object: {error}")))?;
    let Some(TypeMeta { api_version, kind }) = &dynamic.types else {
        return Err(ClusterError::new(what(), "it has no `apiVersion` and `kind`"));
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api = match &dynamic.metadata.namespace {
        Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &resource),
        None => Api::all_with(cluster.client(), &resource),
    };
    Ok((api, dynamic))
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
