//! Parts of objects that drivers and manifests share.
//!
//! Objects are untyped JSON, because every field of a user's pod spec must reach the API server,
//! including fields that this build does not know.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Capabilities, SecurityContext};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_core::RunId;
use plumbline_core::definition::Definition;
use serde_json::{Value, json};

use crate::driver::DriverError;
use crate::names;

/// Returns the label `component: sonobuoy`, by which all objects of a run are found.
pub(crate) fn labels() -> Value {
    json!({(names::COMPONENT_LABEL): names::COMPONENT_VALUE})
}

/// Returns a labelled object in a namespace, with `fields` in addition to its metadata.
pub(crate) fn object(namespace: &str, api_version: &str, kind: &str, name: &str, mut fields: Value) -> Value {
    put(&mut fields, "apiVersion", json!(api_version));
    put(&mut fields, "kind", json!(kind));
    put(&mut fields, "metadata", json!({"name": name, "namespace": namespace, "labels": labels()}));
    fields
}

/// Sets a field of an object. Has no effect on other values.
pub(crate) fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

/// Sets a field of an object that has none, or `null`.
pub(crate) fn put_missing(object: &mut Value, key: &str, value: Value) {
    if object.get(key).is_none_or(Value::is_null) {
        put(object, key, value);
    }
}

/// Removes and returns the list of mappings under `key` of the object at `path`. Absent, `null` and
/// empty mean the same, as for the API server.
pub(crate) fn take_list(
    definition: &Definition,
    object: &mut Value,
    path: &str,
    key: &str,
) -> Result<Vec<Value>, DriverError> {
    let items = match object.as_object_mut().and_then(|fields| fields.remove(key)) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(wrong_type(definition, format!("{path}.{key}"), "a list")),
    };
    match items.iter().position(|item| !item.is_object()) {
        Some(i) => Err(wrong_type(definition, format!("{path}.{key}[{i}]"), "a mapping")),
        None => Ok(items),
    }
}

pub(crate) fn wrong_type(definition: &Definition, path: String, expected: &'static str) -> DriverError {
    DriverError::Type { plugin: definition.name.clone(), path, expected }
}

/// Sets the owner of an object, if there is one. It is not the controller, which would count or
/// replace the object.
pub(crate) fn set_owner(object: &mut Value, owner: Option<&OwnerReference>) {
    if let (Some(owner), Some(metadata)) = (owner, object.get_mut("metadata")) {
        put(metadata, "ownerReferences", json!([owner]));
    }
}

/// Returns a Secret of one run, with base64 in `data`.
pub(crate) fn secret_of_run(
    namespace: &str,
    name: &str,
    run: &RunId,
    owner: Option<&OwnerReference>,
    data: Value,
) -> Value {
    let mut secret = object(namespace, "v1", "Secret", name, json!({"type": "Opaque", "data": data}));
    if let Some(metadata) = secret.get_mut("metadata") {
        put(metadata, "annotations", json!({names::RUN_ANNOTATION: run.to_string()}));
    }
    set_owner(&mut secret, owner);
    secret
}

/// Removes the fields of an object that have no value. In `json!`, they are `None`.
pub(crate) fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// Returns the name of an entry of a list, such as a container or a volume.
pub(crate) fn name(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

pub(crate) fn names_of(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    objects.iter().filter_map(name).collect()
}

/// Mounts `volume` at `path`. If it is only mounted elsewhere, the first mount is moved.
///
/// A plugin that hard-codes another directory would write where nothing reads it.
pub(crate) fn mount(mounts: &mut Vec<Value>, volume: &str, path: &str) {
    let mut own: Vec<&mut Value> = mounts.iter_mut().filter(|mount| name(mount) == Some(volume)).collect();
    if own.iter().any(|mount| mount.get("mountPath").and_then(Value::as_str) == Some(path)) {
        return;
    }
    match own.first_mut() {
        Some(first) => put(first, "mountPath", json!(path)),
        None => mounts.push(json!({"name": volume, "mountPath": path})),
    }
}

/// Returns a volume with the files of all these ConfigMaps in one directory.
pub(crate) fn config_maps_volume(volume: &str, maps: &[String]) -> Value {
    match maps {
        [one] => json!({"name": volume, "configMap": {"name": one}}),
        maps => {
            let sources: Vec<_> = maps.iter().map(|map| json!({"configMap": {"name": map}})).collect();
            json!({"name": volume, "projected": {"sources": sources}})
        }
    }
}

pub(crate) fn variable(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// Returns an environment variable with the value of a field of the pod.
pub(crate) fn field_variable(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Merges `over` into the environment variables of `list`. An empty value removes a variable.
///
/// The result is sorted by lower-case name, as in Sonobuoy. Of two variables with one name the last
/// one applies, as in a container. Entries without a name stay in front, for the API server to
/// reject.
#[must_use]
pub fn merged(list: Vec<Value>, over: &BTreeMap<String, String>) -> Vec<Value> {
    let mut nameless = Vec::new();
    let mut named: BTreeMap<(String, String), Value> = BTreeMap::new();
    let key = |name: &str| (name.to_lowercase(), name.to_owned());
    for entry in list {
        match name(&entry).map(key) {
            Some(key) => drop(named.insert(key, entry)),
            None => nameless.push(entry),
        }
    }
    for (name, value) in over {
        match value.as_str() {
            "" => drop(named.remove(&key(name))),
            value => drop(named.insert(key(name), variable(name, value))),
        }
    }
    nameless.into_iter().chain(named.into_values()).collect()
}

/// Returns the security context of Plumbline's own containers: no privileges, no way to gain any,
/// and a read-only root file system.
pub(crate) fn confined() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_takes_precedence_and_an_empty_value_removes() {
        let node = || field_variable("A", "spec.nodeName");
        let list = vec![variable("b", "1"), node(), variable("gone", "1"), variable("b", "2")];
        let over = [("c", "3"), ("gone", ""), ("absent", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(merged(list, &over), [node(), variable("b", "2"), variable("c", "3")]);
    }

    #[test]
    fn a_volume_that_is_mounted_twice_is_not_mounted_at_one_path_twice() {
        let at = |path: &str| json!({"name": "results", "mountPath": path});
        let mut mounts = vec![at("/tmp/results"), at("/results")];
        let before = mounts.clone();
        mount(&mut mounts, "results", "/results");
        assert_eq!(mounts, before, "a pod with one mount path twice is rejected");
        mount(&mut mounts, "results", "/elsewhere");
        assert_eq!(mounts, [at("/elsewhere"), at("/results")]);
    }
}
