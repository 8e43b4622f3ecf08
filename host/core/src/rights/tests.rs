use super::*;
use serde_json::json;

fn rights(value: serde_json::Value) -> Rights {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_grant_covers_what_lies_within_it() {
    let granted = rights(json!({
        "files": ["/etc/kubernetes"],
        "env": ["CLUSTER"],
        "kubernetes": [
            {"api-version": "v1", "resources": ["nodes"]},
            {"api-version": "v1", "resources": ["pods"], "namespaces": ["kube-system"]},
        ],
    }));
    assert!(granted.missing(&granted).is_empty());
    assert!(rights(json!({"files": ["/etc/kubernetes/pki"]})).missing(&granted).is_empty());
    let wanted = rights(json!({
        "files": ["/etc", "/etc/kubernetes-other"],
        "env": ["HOME"],
        "kubernetes": [
            {"api-version": "v1", "resources": ["pods"]},
            {"api-version": "v1", "resources": ["pods"], "namespaces": ["kube-system", "default"]},
            {"api-version": "apps/v1", "resources": ["nodes"]},
        ],
    }));
    assert_eq!(
        wanted.missing(&granted).lines(),
        [
            "files: /etc",
            "files: /etc/kubernetes-other",
            "kubernetes: pods (v1) in all namespaces",
            "kubernetes: pods (v1) in namespace default",
            "kubernetes: nodes (apps/v1) in all namespaces",
            "env: HOME",
        ]
    );
}

#[test]
fn entries_have_one_form() {
    for (good, value) in [
        (true, json!({})),
        (true, json!({"files": ["/proc", "/var/log/pods"]})),
        (false, json!({"files": ["/"]})),
        (false, json!({"files": ["etc"]})),
        (false, json!({"files": ["/etc/"]})),
        (false, json!({"files": ["/etc/../root"]})),
        (false, json!({"files": ["/etc/./x"]})),
        (false, json!({"files": ["/a\u{1b}"]})),
        (true, json!({"env": ["A_1"]})),
        (false, json!({"env": ["1A"]})),
        (false, json!({"env": ["A=B"]})),
        (true, json!({"kubernetes": [{"api-version": "rbac.authorization.k8s.io/v1", "resources": ["clusterroles"]}]})),
        (false, json!({"kubernetes": [{"api-version": "v1", "resources": []}]})),
        (false, json!({"kubernetes": [{"api-version": "v1", "resources": ["*"]}]})),
        (false, json!({"kubernetes": [{"api-version": "v1", "resources": ["pods/exec"]}]})),
        (false, json!({"kubernetes": [{"api-version": "../v1", "resources": ["pods"]}]})),
        (false, json!({"kubernetes": [{"api-version": "v1", "resources": ["pods"], "namespaces": ["a/b"]}]})),
    ] {
        assert_eq!(rights(value.clone()).check().is_ok(), good, "{value}");
    }
    assert!(serde_json::from_value::<Rights>(json!({"network": ["all"]})).is_err());
}

#[test]
fn missing_rights_are_printed_as_the_lines_that_grant_them() {
    let wanted = rights(json!({
        "files": ["/etc/a: b", "/proc"],
        "env": ["CLUSTER"],
        "kubernetes": [
            {"api-version": "v1", "resources": ["nodes", "pods"]},
            {"api-version": "v1", "resources": ["secrets"], "namespaces": ["default"]},
        ],
    }));
    let yaml = wanted.missing(&Rights::default()).to_yaml();
    let definition =
        format!("sonobuoy-config: {{driver: Job, plugin-name: p}}\n{}\n  component: c.wasm\n", yaml.trim_end());
    let granted = crate::Definition::parse(&definition).unwrap().definition.plumbline.grants;
    assert_eq!(granted, wanted, "{yaml}");
    assert_eq!(
        yaml,
        "plumbline:\n  grants:\n    files: [\"/etc/a: b\", \"/proc\"]\n    kubernetes:\n    - {api-version: v1, resources: [nodes, pods]}\n    - {api-version: v1, resources: [secrets], namespaces: [default]}\n    env: [CLUSTER]"
    );
}

#[test]
fn rights_are_shown_in_the_words_of_a_definition() {
    assert_eq!(Rights::default().to_string(), "none");
    let some = rights(
        json!({"files": ["/proc"], "env": ["A"], "kubernetes": [{"api-version": "v1", "resources": ["nodes"]}]}),
    );
    assert_eq!(some.to_string(), "files: /proc; kubernetes: nodes (v1) in all namespaces; env: A");
}
