//! Creates, replaces and patches objects.

use std::sync::Arc;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::api::{answer::Failure, json as at, patch, read::Call, resources::Resource, state::State, validate};

/// Number of random characters at the end of a generated name.
const RANDOM_END: usize = 5;

/// Creates an object (POST).
pub(crate) fn create(state: &mut State, resource: &Resource, call: &Call<'_>) -> Result<Value, Failure> {
    let mut object = body(call)?;
    identify(resource, call, &mut object)?;
    if !at::text(&object, "/metadata/resourceVersion").is_empty() {
        return Err(Failure::bad_request("resourceVersion should not be set on objects to be created"));
    }
    let prefix = at::text(&object, "/metadata/generateName").to_owned();
    if at::text(&object, "/metadata/name").is_empty() && !prefix.is_empty() {
        let random: String = uuid::Uuid::new_v4().simple().to_string().chars().take(RANDOM_END).collect();
        at::set(&mut object, &["metadata", "name"], format!("{prefix}{random}"));
    }
    let name = at::text(&object, "/metadata/name").to_owned();
    if name.is_empty() {
        let why = "Required value: name or generateName is required";
        return Err(Failure::invalid(resource, "", "metadata.name", why));
    }
    for given_by_server in ["uid", "creationTimestamp", "deletionTimestamp", "generation", "managedFields"] {
        at::unset(&mut object, &["metadata", given_by_server]);
    }
    let namespace = call.namespace();
    check_namespace(state, resource, namespace, &name)?;
    if state.store.get(&resource.id(), namespace, &name).is_some() {
        return Err(Failure::already_exists(resource, &name));
    }
    begin(state, resource, &name, &mut object);
    keep(state, resource, call, object)
}

/// Replaces an object (PUT).
pub(crate) fn replace(state: &mut State, resource: &Resource, call: &Call<'_>, name: &str) -> Result<Value, Failure> {
    let mut object = body(call)?;
    identify(resource, call, &mut object)?;
    let before = existing(state, resource, call, name)?;
    let object = settle(resource, call, &before, object)?;
    keep(state, resource, call, object)
}

/// Patches an object (PATCH). The status is 201 if an apply creates the object, otherwise 200.
pub(crate) fn patch(
    state: &mut State,
    resource: &Resource,
    call: &Call<'_>,
    name: &str,
) -> Result<(u16, Value), Failure> {
    let content_type = call.content_type.split(';').next().unwrap_or_default().trim();
    let (merge, apply): (fn(&mut Value, &Value), bool) = match content_type {
        "application/merge-patch+json" => (patch::merge, false),
        "application/strategic-merge-patch+json" if resource.custom => return Err(unsupported(content_type)),
        "application/strategic-merge-patch+json" => (patch::strategic, false),
        "application/apply-patch+yaml" => (patch::strategic, true),
        _ => return Err(unsupported(content_type)),
    };
    let changes = body(call)?;
    if apply && call.query.get("fieldManager").is_none() {
        return Err(Failure::bad_request("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value"));
    }
    let before = match existing(state, resource, call, name) {
        Ok(before) => before,
        Err(_) if apply && call.path.subresource.is_none() => {
            let mut named = changes;
            at::set(&mut named, &["metadata", "name"], name);
            let body = named.to_string();
            let call = Call { body: body.as_bytes(), ..*call };
            return Ok((201, create(state, resource, &call)?));
        }
        Err(missing) => return Err(missing),
    };
    let mut object = Value::clone(&before);
    merge(&mut object, &changes);
    identify(resource, call, &mut object)?;
    let object = settle(resource, call, &before, object)?;
    Ok((200, keep(state, resource, call, object)?))
}

fn unsupported(content_type: &str) -> Failure {
    Failure::plain(415, format!("the body of the request was in an unknown format: {content_type:?}"))
}

fn body(call: &Call<'_>) -> Result<Value, Failure> {
    let object: Value = serde_json::from_slice(call.body)
        .map_err(|error| Failure::bad_request(format!("couldn't read the body as JSON: {error}")))?;
    if object.is_object() { Ok(object) } else { Err(Failure::bad_request("the body is not an object")) }
}

fn existing(state: &State, resource: &Resource, call: &Call<'_>, name: &str) -> Result<Arc<Value>, Failure> {
    state.store.get(&resource.id(), call.namespace(), name).cloned().ok_or_else(|| Failure::not_found(resource, name))
}

/// Checks that an object matches the path, and fills in missing fields.
fn identify(resource: &Resource, call: &Call<'_>, object: &mut Value) -> Result<(), Failure> {
    for (field, expected) in [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())] {
        let given = at::text(object, &format!("/{field}"));
        if !given.is_empty() && given != expected {
            let message = format!("the {field} in the data ({given}) does not match the expected one ({expected})");
            return Err(Failure::bad_request(message));
        }
        at::set(object, &[field], expected);
    }
    if object.get("metadata").is_none_or(|metadata| !metadata.is_object()) {
        at::set(object, &["metadata"], json!({}));
    }
    let given = at::text(object, "/metadata/namespace").to_owned();
    match &call.path.namespace {
        Some(namespace) if given.is_empty() => at::set(object, &["metadata", "namespace"], namespace.as_str()),
        Some(namespace) if given == *namespace => {}
        None if given.is_empty() => {
            at::unset(object, &["metadata", "namespace"]);
        }
        _ => {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Failure::bad_request(message));
        }
    }
    let name = at::text(object, "/metadata/name");
    match &call.path.name {
        Some(expected) if name.is_empty() => at::set(object, &["metadata", "name"], expected.as_str()),
        Some(expected) if name != expected => {
            let message = format!("the name of the object ({name}) does not match the name on the URL ({expected})");
            return Err(Failure::bad_request(message));
        }
        _ => {}
    }
    Ok(())
}

fn check_namespace(state: &State, resource: &Resource, namespace: &str, name: &str) -> Result<(), Failure> {
    if !resource.namespaced {
        return Ok(());
    }
    match state.store.get("namespaces", "", namespace) {
        Some(around) if around.pointer("/metadata/deletionTimestamp").is_some() => {
            let message = format!(
                "{} \"{name}\" is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
                resource.id()
            );
            Err(Failure::plain(403, message).about(resource, name))
        }
        _ => Ok(()),
    }
}

/// Sets the fields of a new object that the server controls.
fn begin(state: &State, resource: &Resource, name: &str, object: &mut Value) {
    if resource.status {
        at::unset(object, &["status"]);
    }
    match resource.id().as_str() {
        "pods" => at::set(object, &["status", "phase"], "Pending"),
        "namespaces" => {
            at::set(object, &["metadata", "labels", "kubernetes.io/metadata.name"], name);
            at::set(object, &["spec", "finalizers"], json!(["kubernetes"]));
            at::set(object, &["status", "phase"], "Active");
        }
        "services" if at::text(object, "/spec/clusterIP").is_empty() => {
            let [.., high, low] = state.store.version().to_be_bytes();
            at::set(object, &["spec", "clusterIP"], format!("10.96.{high}.{low}"));
        }
        _ => {}
    }
}

/// Returns the object to store. Depending on the path, only the status or everything else is taken
/// from the request. Fields that only the server may change are kept.
fn settle(resource: &Resource, call: &Call<'_>, before: &Value, mut object: Value) -> Result<Value, Failure> {
    let name = at::text(before, "/metadata/name");
    let version = at::text(&object, "/metadata/resourceVersion");
    if !version.is_empty() && version != at::text(before, "/metadata/resourceVersion") {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Failure::conflict(resource, name, why));
    }
    let uid = at::text(&object, "/metadata/uid");
    if !uid.is_empty() && uid != at::text(before, "/metadata/uid") {
        return Err(Failure::conflict(resource, name, "the uid in the request is not that of the object"));
    }
    if call.path.subresource.as_deref() == Some("status") {
        let mut whole = before.clone();
        match object.get_mut("status") {
            Some(status) => at::set(&mut whole, &["status"], status.take()),
            None => drop(at::unset(&mut whole, &["status"])),
        }
        return Ok(whole);
    }
    if resource.status {
        match before.get("status") {
            Some(status) => at::set(&mut object, &["status"], status.clone()),
            None => drop(at::unset(&mut object, &["status"])),
        }
    }
    for kept in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"] {
        match before.get("metadata").and_then(|metadata| metadata.get(kept)) {
            Some(value) => at::set(&mut object, &["metadata", kept], value.clone()),
            None => drop(at::unset(&mut object, &["metadata", kept])),
        }
    }
    Ok(object)
}

/// Stores an object, if it is valid and the request is not a dry run.
fn keep(state: &mut State, resource: &Resource, call: &Call<'_>, mut object: Value) -> Result<Value, Failure> {
    if resource.id() == "secrets" {
        encode_strings(&mut object);
    }
    validate::check(resource, &object)?;
    if call.query.get("dryRun").is_some() {
        return Ok(call.shape.show(resource, &object));
    }
    let stored = state.store.write(&resource.id(), object);
    Ok(call.shape.show(resource, &stored))
}

/// Converts the `stringData` of a Secret to `data`.
fn encode_strings(secret: &mut Value) {
    let Some(Value::Object(strings)) = at::unset(secret, &["stringData"]) else {
        return;
    };
    for (key, value) in strings {
        let bytes = value.as_str().unwrap_or_default().as_bytes();
        at::set(secret, &["data", &key], json!(ByteString(bytes.to_vec())));
    }
}
