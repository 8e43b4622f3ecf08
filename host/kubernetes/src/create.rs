//! Puts the objects of a run into the cluster, in order; what was created is taken back when one of them cannot be.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// How often a creation is tried when the server is busy or cannot be reached for a moment.
const ATTEMPTS: usize = 5;

/// What happened to one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// It is new.
    New,
    /// It is cluster-wide and was there already: it is taken as it is.
    Kept,
}

/// Creates `objects` in their order. `told` hears of each.
///
/// # Errors
/// The first that cannot be created. What was created before it is deleted again, as far as that can be done.
pub async fn create(
    cluster: &Cluster,
    objects: &[Value],
    mut told: impl FnMut(&str, Created),
) -> Result<(), ClusterError> {
    let mut done: Vec<&Value> = Vec::new();
    for object in objects {
        match create_one(cluster, object).await {
            Ok(Created::New) => {
                told(&title(object), Created::New);
                done.push(object);
            }
            Ok(Created::Kept) => told(&title(object), Created::Kept),
            Err(error) => {
                roll_back(cluster, &done).await;
                return Err(error);
            }
        }
    }
    Ok(())
}

async fn create_one(cluster: &Cluster, object: &Value) -> Result<Created, ClusterError> {
    let (api, dynamic) = target(cluster, object)?;
    let parameters = PostParams::default();
    let attempt = || async { api.create(&parameters, &dynamic).await };
    let result = attempt
        .retry(ExponentialBuilder::default().with_min_delay(Duration::from_millis(300)).with_max_times(ATTEMPTS))
        .when(is_transient)
        .await;
    match result {
        Ok(_) => Ok(Created::New),
        // The namespace stands on its own line of the manifest, and may be somebody else's.
        Err(kube::Error::Api(status)) if status.code == 409 && is_cluster_wide(object) => Ok(Created::Kept),
        Err(error) => Err(explained(object, &error)),
    }
}

fn is_transient(error: &kube::Error) -> bool {
    ClusterError::api("", error).is_transient()
}

fn explained(object: &Value, error: &kube::Error) -> ClusterError {
    let error = ClusterError::api(format!("create {}", title(object)), error);
    if error.is_conflict() {
        return error.hint("it was left by an earlier run, or belongs to one that is under way: `plumbline status` shows it, `plumbline delete` removes it");
    }
    error
}

async fn roll_back(cluster: &Cluster, done: &[&Value]) {
    for object in done.iter().rev() {
        let Ok((api, dynamic)) = target(cluster, object) else { continue };
        let Some(name) = dynamic.metadata.name.as_deref() else { continue };
        if let Err(error) = api.delete(name, &DeleteParams::background()).await {
            tracing::warn!("{}", ClusterError::api(format!("take back {}", title(object)), &error));
        }
    }
}

fn target(cluster: &Cluster, object: &Value) -> Result<(Api<DynamicObject>, DynamicObject), ClusterError> {
    let what = || format!("create {}", title(object));
    let dynamic: DynamicObject = serde_json::from_value(object.clone())
        .map_err(|error| ClusterError::new(what(), format!("it is no Kubernetes object: {error}")))?;
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

fn is_cluster_wide(object: &Value) -> bool {
    object.pointer("/metadata/namespace").is_none()
}

/// For people: `pod `sonobuoy` in namespace `x``.
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
