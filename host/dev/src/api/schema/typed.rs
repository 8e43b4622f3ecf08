//! Checks objects against the types of their kinds.

use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::json;

/// Returns the problems with the fields of an object. In a round trip through the type of its kind,
/// unknown or misspelled fields are lost, missing required ones appear, and values of another type
/// are rejected.
pub(super) fn check(object: &Value) -> Result<(), String> {
    let id = (json::text(object, "/apiVersion"), json::text(object, "/kind"));
    let mut known = Vec::new();
    macro_rules! kinds {
        ($($kind:ty),+ $(,)?) => {
            $(
                if id == (<$kind>::API_VERSION, <$kind>::KIND) {
                    return through::<$kind>(object);
                }
                known.push(<$kind>::KIND);
            )+
        };
    }
    kinds!(
        ClusterRole,
        ClusterRoleBinding,
        ConfigMap,
        CronJob,
        DaemonSet,
        Deployment,
        Job,
        Namespace,
        NetworkPolicy,
        PersistentVolumeClaim,
        Pod,
        Role,
        RoleBinding,
        Secret,
        Service,
        ServiceAccount,
    );
    Err(format!("`{}` of `{}` is not a kind that is known here: there are {}", id.1, id.0, known.join(", ")))
}

fn through<T: DeserializeOwned + Serialize>(object: &Value) -> Result<(), String> {
    let typed: T =
        serde_json::from_value(object.clone()).map_err(|error| format!("a value is of another type: {error}"))?;
    let back = serde_json::to_value(typed).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    differences(object, &back, String::new(), &mut found);
    if found.is_empty() { Ok(()) } else { Err(found.join("; ")) }
}

/// Adds every place in which the round trip changed the object.
fn differences(object: &Value, back: &Value, path: String, found: &mut Vec<String>) {
    match (object, back) {
        (Value::Object(object), Value::Object(back)) => {
            for (key, value) in object {
                let path = format!("{path}.{key}");
                match back.get(key) {
                    Some(back) => differences(value, back, path, found),
                    None if value.is_null() => found.push(format!("`{path}` is nothing: leave it out")),
                    None => found.push(format!("`{path}` is not a field of this kind")),
                }
            }
            let missing = back.keys().filter(|key| !object.contains_key(*key));
            found.extend(missing.map(|key| format!("`{path}.{key}` is required")));
        }
        (Value::Array(object), Value::Array(back)) if object.len() == back.len() => {
            for (at, (object, back)) in object.iter().zip(back).enumerate() {
                differences(object, back, format!("{path}[{at}]"), found);
            }
        }
        (object, back) if object == back => {}
        (object, back) => found.push(format!("`{path}` is read as {back}, not as {object}")),
    }
}
