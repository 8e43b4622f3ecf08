use serde_json::{Value, json};

use super::*;
use crate::Definition;

fn read(permissions: Value) -> Result<ApiPermissions, DefinitionError> {
    let document = json!({
        "sonobuoy-config": {"driver": "Job", "plugin-name": "p"},
        "spec": {},
        "plumbline": {"permissions": permissions},
    });
    let parsed = Definition::from_json(document)?.definition;
    let again = Definition::from_json(parsed.to_json()).unwrap().definition;
    assert_eq!(again.plumbline.permissions, parsed.plumbline.permissions, "they survive being written");
    Ok(parsed.plumbline.permissions)
}

#[test]
fn rules_are_read_as_kubernetes_writes_them() {
    assert!(read(Value::Null).unwrap().is_empty());
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let read = read(json!({
        "cluster": everything,
        "namespace": [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get"]}],
    }))
    .unwrap();
    assert!(read.is_cluster_admin() && !read.is_empty());
    let rule = read.namespace.first().unwrap();
    assert_eq!(rule.api_groups, [""]);
    assert_eq!(rule.resource_names, ["a"]);
}

#[test]
fn rules_that_the_api_server_rejects_are_rejected_here() {
    let checked = |permissions| read(permissions).and_then(|permissions| permissions.check());
    for (permissions, path) in [
        (json!({"cluster": [{"apiGroups": [""], "resources": ["pods"]}]}), "plumbline.permissions.cluster[0].verbs"),
        (json!({"cluster": [{"resources": ["pods"], "verbs": ["get"]}]}), "plumbline.permissions.cluster[0]"),
        (json!({"namespace": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}), "plumbline.permissions.namespace[0]"),
        (json!({"cluster": vec![json!({}); 101]}), "plumbline.permissions.cluster"),
    ] {
        let error = checked(permissions).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
    }
}
