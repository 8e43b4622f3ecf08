//! The resource of an object, and the rules for names, labels and sizes that the server also
//! enforces.

use serde_json::Value;

use crate::json;
use crate::resources::{Resource, Resources};
use crate::validate::{self, is_label};

/// Applies the server's rules to an object of a known kind. Other kinds are not checked.
pub(super) fn check(object: &Value) -> Result<(), String> {
    let namespace = object.pointer("/metadata/namespace");
    if namespace.is_some_and(|namespace| !namespace.as_str().is_some_and(is_label)) {
        return Err("`.metadata.namespace` is not a DNS label".to_owned());
    }
    let Some(resource) = resource(object) else { return Ok(()) };
    if !resource.namespaced && namespace.is_some() {
        return Err("`.metadata.namespace` is set, and the kind has no namespaces".to_owned());
    }
    validate::check(&resource, object).map_err(|failure| failure.message().to_owned())
}

fn resource(object: &Value) -> Option<Resource> {
    let (api_version, kind) = (json::text(object, "/apiVersion"), json::text(object, "/kind"));
    Resources::usual().of_kind(api_version, kind).cloned()
}
