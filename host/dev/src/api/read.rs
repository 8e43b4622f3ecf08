//! Reads of single objects and of lists, with pagination.

use http::Method;
use serde_json::{Value, json};

use crate::api::{
    answer::Failure,
    json as at,
    request::{ObjectPath, Query},
    resources::Resource,
    selector::selector,
    state::State,
    store::Key,
};

/// A request for objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a ObjectPath,
    pub(crate) query: &'a Query,
    pub(crate) content_type: &'a str,
    pub(crate) shape: Shape,
    pub(crate) body: &'a [u8],
}

impl Call<'_> {
    /// Returns the namespace of the path; empty if there is none.
    pub(crate) fn namespace(&self) -> &str {
        self.path.namespace.as_deref().unwrap_or_default()
    }
}

/// The representation of an object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    /// Whether to show only the metadata.
    pub(crate) metadata_only: bool,
}

impl Shape {
    /// Returns the representation that the client accepts.
    pub(crate) fn accepted(accept: &str) -> Self {
        Self { metadata_only: accept.contains("as=PartialObjectMetadata") }
    }

    /// Returns the representation of an object in this version of the resource.
    pub(crate) fn show(self, resource: &Resource, object: &Value) -> Value {
        if self.metadata_only {
            return json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.get("metadata"),
            });
        }
        let mut shown = object.clone();
        at::set(&mut shown, &["apiVersion"], resource.api_version());
        at::set(&mut shown, &["kind"], resource.kind.as_str());
        shown
    }

    fn show_in_list(self, resource: &Resource, object: &Value) -> Value {
        let mut shown = self.show(resource, object);
        if !resource.custom && !self.metadata_only {
            at::unset(&mut shown, &["apiVersion"]);
            at::unset(&mut shown, &["kind"]);
        }
        shown
    }

    /// Returns the representation of a list with its own `metadata`.
    pub(crate) fn list<'a>(
        self,
        resource: &Resource,
        metadata: Value,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Value {
        let (kind, api_version) = if self.metadata_only {
            ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned())
        } else {
            (format!("{}List", resource.kind), resource.api_version())
        };
        let items: Vec<_> = objects.map(|object| self.show_in_list(resource, object)).collect();
        json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items})
    }
}

pub(crate) fn one(state: &State, resource: &Resource, call: &Call<'_>, name: &str) -> Result<Value, Failure> {
    let object = state.store.get(&resource.id(), call.namespace(), name);
    Ok(call.shape.show(resource, object.ok_or_else(|| Failure::not_found(resource, name))?))
}

pub(crate) fn list(state: &State, resource: &Resource, call: &Call<'_>) -> Result<Value, Failure> {
    let Call { path, query, shape, .. } = *call;
    let selector = selector(query, resource)?;
    let limit = query.parsed::<usize>("limit")?.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let (version, after) = match query.get("continue") {
        Some(token) => read_token(state, token)?,
        None => (state.store.version(), None),
    };
    if let Some(exact) = query.parsed::<u64>("resourceVersion")?
        && query.get("resourceVersionMatch") == Some("Exact")
        && state.store.changes.is_too_old(exact)
    {
        return Err(Failure::expired(format!("The resourceVersion for the provided list is too old: {exact}")));
    }
    let id = resource.id();
    let wanted = |(key, object): &(&Key, &std::sync::Arc<Value>)| {
        path.namespace.as_ref().is_none_or(|namespace| key.0 == *namespace)
            && after.as_ref().is_none_or(|after| *key > after)
            && selector.matches(object)
    };
    let all: Vec<_> = state.store.list(&id).filter(wanted).collect();
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let Some((key, _)) = limit.checked_sub(1).and_then(|last| all.get(last)).filter(|_| all.len() > limit) {
        at::set(&mut metadata, &["continue"], format!("{version}:{}/{}", key.0, key.1));
        if selector.is_empty() {
            at::set(&mut metadata, &["remainingItemCount"], all.len() - limit);
        }
    }
    Ok(shape.list(resource, metadata, all.into_iter().take(limit).map(|(_, object)| object.as_ref())))
}

/// Parses a continue token: the version of the first page, and the last object of the previous
/// page, as `VERSION:NAMESPACE/NAME`. It is opaque to clients.
fn read_token(state: &State, token: &str) -> Result<(u64, Option<Key>), Failure> {
    let parts = || {
        let (version, key) = token.split_once(':')?;
        let (namespace, name) = key.split_once('/')?;
        Some((version.parse::<u64>().ok()?, (namespace.to_owned(), name.to_owned())))
    };
    let (version, key) = parts().ok_or_else(|| Failure::bad_request("continue key is not valid"))?;
    if state.store.changes.is_too_old(version) {
        return Err(Failure::expired("The provided continue parameter is too old to display a consistent list result"));
    }
    Ok((version, Some(key)))
}
