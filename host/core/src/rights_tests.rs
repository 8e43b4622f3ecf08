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
    assert_eq!(granted.missing(&granted), []);
    assert_eq!(rights(json!({"files": ["/etc/kubernetes/pki"]})).missing(&granted), []);
    let wanted = rights(json!({
        "files": ["/etc", "/etc/kubernetes-other"],
        "env": ["HOME"],
        "kubernetes": [
            {"api-version": "v1", "resources": ["pods"]},
            {"api-version": "v1", "resources": ["pods"], "namespaces": ["kube-system", "default"]},
            {"api-version": "apps/v1", "resources": ["nodes"]},
        ],
    }));
    let missing: Vec<String> = wanted.missing(&granted).iter().map(MissingRight::to_string).collect();
    assert_eq!(
        missing,
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
