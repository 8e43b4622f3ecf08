//! Validation of objects: the rules that the objects of a run can violate.

use serde_json::Value;

use crate::api::{answer::Failure, json, resources::Resource};

/// Maximum size in bytes of all annotations of one object, keys and values together.
const ANNOTATIONS: usize = 256 * 1024;
/// Maximum size in bytes of the data of a ConfigMap or a Secret: only values count.
const DATA: usize = 1024 * 1024;
/// Maximum length of a name that is a DNS subdomain.
const SUBDOMAIN: usize = 253;
/// Maximum length of a DNS label, of the name part of a key, and of a label value.
const LABEL: usize = 63;

/// Validates an object that a client wants to store.
pub(crate) fn check(resource: &Resource, object: &Value) -> Result<(), Failure> {
    let name = json::text(object, "/metadata/name");
    let invalid = |field: &str, why: String| Err(Failure::invalid(resource, name, field, &why));
    let fits = match resource.group.as_str() {
        // Names of roles may be any single path segment.
        "rbac.authorization.k8s.io" => !name.is_empty() && !name.contains(['/', '%']) && !matches!(name, "." | ".."),
        _ if matches!(resource.plural.as_str(), "namespaces" | "services") => is_label(name),
        _ => is_subdomain(name),
    };
    if !fits {
        return invalid("metadata.name", format!("Invalid value: {name:?}: must be a valid DNS name in lower case"));
    }
    check_metadata(resource, object)?;
    check_content(resource, object)
}

fn check_metadata(resource: &Resource, object: &Value) -> Result<(), Failure> {
    let invalid =
        |field: &str, why: String| Err(Failure::invalid(resource, json::text(object, "/metadata/name"), field, &why));
    for (key, value) in json::members(object, "/metadata/labels") {
        if !is_key(key) {
            return invalid("metadata.labels", format!("Invalid value: {key:?}: not a valid label key"));
        }
        if !value.as_str().is_some_and(|value| value.is_empty() || is_word(value)) {
            return invalid("metadata.labels", format!("Invalid value: {value}: not a valid label value"));
        }
    }
    let mut bytes = 0;
    for (key, value) in json::members(object, "/metadata/annotations") {
        if !is_key(&key.to_lowercase()) {
            return invalid("metadata.annotations", format!("Invalid value: {key:?}: not a valid annotation key"));
        }
        let Some(value) = value.as_str() else {
            return invalid("metadata.annotations", format!("Invalid value: {value}: not a string"));
        };
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS {
        return invalid("metadata.annotations", format!("Too long: must have at most {ANNOTATIONS} bytes"));
    }
    Ok(())
}

fn check_content(resource: &Resource, object: &Value) -> Result<(), Failure> {
    let invalid =
        |field: &str, why: String| Err(Failure::invalid(resource, json::text(object, "/metadata/name"), field, &why));
    match resource.id().as_str() {
        "configmaps" | "secrets" => {
            let size = |field: &str| -> usize {
                json::members(object, field).map(|(_, value)| value.as_str().map_or(0, str::len)).sum()
            };
            // Base64-encoded values count with their decoded size.
            let (plain, encoded) = match resource.plural.as_str() {
                "secrets" => (0, size("/data")),
                _ => (size("/data"), size("/binaryData")),
            };
            if plain + encoded / 4 * 3 > DATA {
                return invalid("data", format!("Too long: must have at most {DATA} bytes"));
            }
        }
        "pods" => {
            let containers = json::array(object, "/spec/containers");
            if containers.is_empty() {
                return invalid("spec.containers", "Required value".into());
            }
            if containers.iter().any(|container| !is_label(json::text(container, "/name"))) {
                return invalid("spec.containers[].name", "Invalid value: must be a DNS label".into());
            }
        }
        "daemonsets.apps" | "deployments.apps" | "replicasets.apps" => {
            let mut wanted = json::members(object, "/spec/selector/matchLabels").peekable();
            if wanted.peek().is_none() && json::array(object, "/spec/selector/matchExpressions").is_empty() {
                return invalid("spec.selector", "Required value".into());
            }
            let labels = object.pointer("/spec/template/metadata/labels");
            if !wanted.all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value)) {
                return invalid("spec.template.metadata.labels", "`selector` does not match template `labels`".into());
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns whether a text is a DNS label: lower-case letters, digits, and hyphens inside.
pub(crate) fn is_label(text: &str) -> bool {
    text.len() <= LABEL && is_part(text)
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_word(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = |c: char| c.is_ascii_alphanumeric();
    (1..=LABEL).contains(&text.len()) && text.chars().all(inner) && text.starts_with(end) && text.ends_with(end)
}

/// Returns whether a text is a key: `name`, or `prefix/name` with one slash.
fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_word(name),
        None => is_word(key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::resources::Resources;

    fn refused(resource: &str, object: Value) -> Option<u16> {
        check(Resources::usual().named(resource).unwrap(), &object).err().map(|failure| failure.code)
    }

    #[test]
    fn names_keys_and_values_that_a_server_refuses_are_refused() {
        let long = "x".repeat(64);
        for metadata in [
            json!({"name": "Upper"}),
            json!({"name": "a..b"}),
            json!({"name": "a", "labels": {"k": "two words"}}),
            json!({"name": "a", "labels": {"k": long}}),
            json!({"name": "a", "annotations": {"a.b/c/d": "two slashes"}}),
            json!({"name": "a", "annotations": {"k": "x".repeat(ANNOTATIONS)}}),
        ] {
            assert_eq!(refused("configmaps", json!({"metadata": metadata})), Some(422), "{metadata}");
        }
        let fine =
            json!({"name": "a.b-c", "labels": {"a.b/c": "", "k": "v_1"}, "annotations": {"a.B/C.d": "any text"}});
        assert_eq!(refused("configmaps", json!({"metadata": fine})), None);
        assert_eq!(refused("clusterroles", json!({"metadata": {"name": "system:a:B"}})), None);
        assert_eq!(refused("services", json!({"metadata": {"name": "a.b"}})), Some(422));
    }

    #[test]
    fn sizes_and_selectors_are_checked() {
        let data = |bytes: usize| json!({"metadata": {"name": "a"}, "data": {"key": "x".repeat(bytes)}});
        assert_eq!(refused("configmaps", data(DATA)), None, "keys do not count");
        assert_eq!(refused("configmaps", data(DATA + 1)), Some(422));
        let mut set = json!({"metadata": {"name": "a"}, "spec": {
            "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b", "c": "d"}}}
        }});
        assert_eq!(refused("daemonsets", set.clone()), None);
        json::set(&mut set, &["spec", "template", "metadata", "labels", "a"], "x");
        assert_eq!(refused("daemonsets", set), Some(422));
        assert_eq!(refused("pods", json!({"metadata": {"name": "a"}, "spec": {}})), Some(422));
    }
}
