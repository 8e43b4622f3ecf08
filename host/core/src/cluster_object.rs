//! What a check sees of an object of the cluster.

use serde_json::Value;

/// The text in place of a value of a Secret.
const REDACTED: &str = "REDACTED";

/// The annotation in which `kubectl apply` keeps a copy of the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Removes what no check needs from an object of a resource, and the values of a Secret.
pub fn redacted(api_version: &str, resource: &str, mut object: Value) -> Value {
    let is_secret = api_version == "v1" && resource == "secrets";
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if is_secret && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    if is_secret {
        for field in ["data", "stringData"] {
            for (_, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
                *value = REDACTED.into();
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_secrets_never_leave() {
        let secret = json!({
            "metadata": {
                "name": "s", "managedFields": [{}],
                "annotations": {(LAST_APPLIED): "{\"data\":{\"password\":\"aHVudGVyMg==\"}}", "owner": "me"},
            },
            "data": {"password": "aHVudGVyMg==", "empty": null}, "stringData": {"token": "hunter2"}, "type": "Opaque",
        });
        assert_eq!(
            redacted("v1", "secrets", secret.clone()),
            json!({
                "metadata": {"name": "s", "annotations": {"owner": "me"}},
                "data": {"password": "REDACTED", "empty": "REDACTED"}, "stringData": {"token": "REDACTED"}, "type": "Opaque",
            })
        );
        // Other objects keep their data.
        let map = redacted("v1", "configmaps", secret);
        assert_eq!(map["stringData"]["token"], "hunter2");
        assert!(map["metadata"].get("managedFields").is_none());
    }
}
