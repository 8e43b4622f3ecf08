//! Checks one object.

use serde_json::Value;

use super::{pod, typed};
use crate::api::json;
use crate::api::resources::{Resource, Resources};
use crate::api::validate::{self, is_label};

/// Checks an object: its fields against the type of its kind, its name, labels, annotations and
/// sizes, and its pods.
///
/// # Errors
/// All problems, after `KIND/NAME`, with the paths of fields.
pub fn check(object: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    found.extend(typed::check(object).err());
    found.extend(check_names(object).err());
    let template = match json::text(object, "/kind") {
        "Pod" => Some(""),
        "DaemonSet" | "Deployment" | "Job" => Some("/spec/template"),
        "CronJob" => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    };
    if let Some(template) = template {
        match object.pointer(&format!("{template}/spec")) {
            Some(spec) => pod::check(spec, &mut found),
            None => found.push("it has no spec for its pods".to_owned()),
        }
    }
    if json::text(object, "/kind").ends_with("Binding") {
        binding(object, &mut found);
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{}/{}: {}",
            json::text(object, "/kind"),
            json::text(object, "/metadata/name"),
            found.join("; ")
        )),
    }
}

/// Applies the server's rules to an object of a known kind. Other kinds are not checked.
fn check_names(object: &Value) -> Result<(), String> {
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

/// Reports a role binding that has no effect, although a server accepts it.
fn binding(object: &Value, found: &mut Vec<String>) {
    let group = "rbac.authorization.k8s.io";
    if json::text(object, "/roleRef/apiGroup") != group {
        found.push(format!("`.roleRef.apiGroup` is not `{group}`"));
    }
    let subjects = json::array(object, "/subjects");
    if subjects.is_empty() {
        found.push("`.subjects` is empty".to_owned());
    }
    for (at, subject) in subjects.iter().enumerate() {
        if json::text(subject, "/kind") == "ServiceAccount" && json::text(subject, "/namespace").is_empty() {
            found.push(format!("`.subjects[{at}].namespace` is required for a service account"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "labels": {"a": "b"}},
            "spec": {
                "containers": [{
                    "name": "c",
                    "image": "i",
                    "resources": {"limits": {"memory": "1Gi"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                }],
                "restartPolicy": "Never",
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
        })
    }

    /// Checks the pod with another value at a JSON pointer, whose last part is added or replaced.
    fn with(parent: &str, key: &str, value: Value) -> String {
        let mut pod = pod();
        pod.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
        check(&pod).unwrap_err()
    }

    #[test]
    fn a_good_object_passes() {
        check(&pod()).unwrap();
        check(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})).unwrap();
    }

    #[test]
    fn invalid_fields_are_reported_by_path() {
        let message = with("/spec", "restartpolicy", json!("Never"));
        assert_eq!(message, "Pod/p: `.spec.restartpolicy` is not a field of this kind");
        let message = with("/spec/containers/0", "imagePullPolicy", json!(1));
        assert!(message.contains("of another type"), "{message}");
        let message = with("/spec/containers/0", "ports", json!([{"name": "http"}]));
        assert!(message.contains("`.spec.containers[0].ports[0].containerPort` is required"), "{message}");
        let message = with("/metadata", "name", json!("Two Words"));
        assert!(message.contains("must be a valid DNS name"), "{message}");
        let message = with("/metadata", "namespace", json!("a.b"));
        assert!(message.contains("`.metadata.namespace` is not a DNS label"), "{message}");
        let message = with("/metadata", "labels", json!({"a": "two words"}));
        assert!(message.contains("not a valid label value"), "{message}");
        let message = with("/spec", "volumes", json!([]));
        assert!(message.contains("mounts volume `v`, which the pod does not have"), "{message}");
        let message = check(&json!({"apiVersion": "v2", "kind": "Pod"})).unwrap_err();
        assert!(message.contains("not a kind that is known here"), "{message}");
        let message =
            check(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "n"}}));
        assert!(message.unwrap_err().contains("has no namespaces"));
    }

    #[test]
    fn a_binding_names_its_service_account_in_full() {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "", "kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "s"}],
        });
        let message = check(&binding).unwrap_err();
        assert!(message.contains("`.roleRef.apiGroup`") && message.contains("`.subjects[0].namespace`"), "{message}");
    }
}
