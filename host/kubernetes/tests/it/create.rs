//! Creation of the objects of a run, and what a roll-back leaves.

use std::time::Duration;

use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::{Change, Cluster, create, create_within, names};
use serde_json::{Value, json};

use crate::cluster;

const NAMESPACE: &str = "ns";
const ROLE: &str = "sonobuoy-serviceaccount-ns";

async fn bed() -> (ApiDouble, Cluster) {
    let double = ApiDouble::start().await.unwrap();
    (double.clone(), cluster(&double).await)
}

fn namespace() -> Value {
    let labels = json!({"component": "sonobuoy", names::OWNED_LABEL: "true"});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
}

fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": ROLE, "labels": {"component": "sonobuoy", "namespace": NAMESPACE}},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}],
    })
}

fn in_namespace(kind: &str, name: &str) -> Value {
    let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": {"component": "sonobuoy"}});
    json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})
}

/// Returns whether an object without a namespace exists, and is not being deleted.
fn stays(double: &ApiDouble, resource: &str, name: &str) -> bool {
    double.get(resource, "", name).is_some_and(|object| object["metadata"]["deletionTimestamp"].is_null())
}

fn refuse(double: &ApiDouble, path: &str) {
    let kind = FaultKind::Status { code: 403, message: "the quota is used up".into(), retry_after: None };
    double.fault(Fault { method: Some("POST"), path_contains: path.to_owned(), kind, times: 1 });
}

#[tokio::test]
async fn a_namespace_in_which_another_run_was_faster_stays() {
    let (double, cluster) = bed().await;
    // The other command finds the new namespace, and creates its account first.
    let other = |title: &str, _: Change| {
        if title == "namespace `ns`" {
            let mut account = in_namespace("ServiceAccount", "sonobuoy-serviceaccount");
            account["metadata"]["annotations"] = json!({"plumbline.dev/creation": "of the other command"});
            double.put("serviceaccounts", account);
        }
    };
    let objects = [namespace(), in_namespace("ServiceAccount", "sonobuoy-serviceaccount")];
    let error = create(&cluster, &objects, other).await.unwrap_err();
    assert!(error.to_string().contains("it already exists"), "{error}");
    assert!(stays(&double, "namespaces", NAMESPACE), "the other run is in it");
    assert!(double.get("serviceaccounts", NAMESPACE, "sonobuoy-serviceaccount").is_some());
}

#[tokio::test]
async fn a_cluster_wide_role_that_another_run_has_kept_stays() {
    let (double, cluster) = bed().await;
    // The other command needs the same role, and creates its configuration first.
    let other = |title: &str, _: Change| {
        if title == format!("clusterrole `{ROLE}`") {
            double.put("configmaps", in_namespace("ConfigMap", "sonobuoy-config-cm"));
        }
    };
    let own = "sonobuoy-serviceaccount";
    let objects =
        [namespace(), in_namespace("ServiceAccount", own), role(), in_namespace("ConfigMap", "sonobuoy-config-cm")];
    create(&cluster, &objects, other).await.unwrap_err();
    assert!(stays(&double, "clusterroles", ROLE) && stays(&double, "namespaces", NAMESPACE));
    assert!(double.get("serviceaccounts", NAMESPACE, own).is_none(), "only this command needs its own account");
}

#[tokio::test]
async fn a_namespace_without_another_run_is_removed() {
    let (double, cluster) = bed().await;
    refuse(&double, "/configmaps");
    // The cluster itself creates objects in every namespace.
    let by_cluster = |title: &str, _: Change| {
        if title == "namespace `ns`" {
            double.put("serviceaccounts", json!({"metadata": {"name": "default", "namespace": NAMESPACE}}));
        }
    };
    let objects = [
        namespace(),
        in_namespace("ServiceAccount", "sonobuoy-serviceaccount"),
        role(),
        in_namespace("ConfigMap", "sonobuoy-config-cm"),
    ];
    create(&cluster, &objects, by_cluster).await.unwrap_err();
    assert!(!stays(&double, "namespaces", NAMESPACE) && !stays(&double, "clusterroles", ROLE));
}

#[tokio::test]
async fn a_namespace_that_somebody_created_again_stays() {
    let (double, cluster) = bed().await;
    refuse(&double, "/serviceaccounts");
    let again = |title: &str, _: Change| {
        if title == "namespace `ns`" {
            double.remove("namespaces", "", NAMESPACE);
            double.put("namespaces", namespace());
        }
    };
    create(&cluster, &[namespace(), in_namespace("ServiceAccount", "x")], again).await.unwrap_err();
    assert!(stays(&double, "namespaces", NAMESPACE));
}

#[tokio::test]
async fn a_namespace_whose_content_is_unknown_stays() {
    let (double, cluster) = bed().await;
    refuse(&double, "/serviceaccounts");
    double.deny("list", "pods");
    create(&cluster, &[namespace(), in_namespace("ServiceAccount", "x")], |_, _| ()).await.unwrap_err();
    assert!(stays(&double, "namespaces", NAMESPACE));
}

#[tokio::test]
async fn what_a_roll_back_leaves_is_in_the_error() {
    let account = in_namespace("ServiceAccount", "sonobuoy-serviceaccount");
    let rest = [account, role(), in_namespace("ConfigMap", "sonobuoy-config-cm")];
    let denied = FaultKind::Status { code: 403, message: "it is forbidden".into(), retry_after: None };
    // The API server rejects a request, or never answers it.
    for kind in [denied, FaultKind::Stall(Duration::from_secs(3600))] {
        let (double, cluster) = bed().await;
        refuse(&double, "/configmaps");
        let path_contains = "/serviceaccounts/".to_owned();
        double.fault(Fault { method: Some("DELETE"), path_contains, kind, times: u32::MAX });
        let error = create_within(&cluster, &rest, Duration::from_secs(9), |_, _| ()).await.unwrap_err();
        let hint = error.hint.unwrap();
        assert!(hint.contains("serviceaccount `sonobuoy-serviceaccount` in namespace `ns`"), "{hint}");
        assert!(hint.contains("`plumbline delete -n ns`") && !hint.contains("clusterrole"), "{hint}");
        assert!(!stays(&double, "clusterroles", ROLE), "{hint}");
        // What is in a namespace goes with it.
        refuse(&double, "/configmaps");
        double.remove("serviceaccounts", NAMESPACE, "sonobuoy-serviceaccount");
        let all = [&[namespace()], &rest[..]].concat();
        let error = create_within(&cluster, &all, Duration::from_secs(9), |_, _| ()).await.unwrap_err();
        assert!(!stays(&double, "namespaces", NAMESPACE), "{error}");
        assert!(!error.hint.is_some_and(|hint| hint.contains("plumbline delete")));
    }
}

#[tokio::test]
async fn commands_in_hints_find_the_run_in_its_namespace() {
    for (namespace, option) in [(NAMESPACE, " -n ns"), (names::DEFAULT_NAMESPACE, "")] {
        let (double, cluster) = bed().await;
        let in_it = |kind: &str, name: &str| {
            let mut object = in_namespace(kind, name);
            object["metadata"]["namespace"] = json!(namespace);
            object
        };
        let objects = [in_it("ServiceAccount", "sonobuoy-serviceaccount"), in_it("ConfigMap", "sonobuoy-config-cm")];
        double.put("configmaps", objects[1].clone());
        let kind = FaultKind::Status { code: 403, message: "it is forbidden".into(), retry_after: None };
        double.fault(Fault { method: Some("DELETE"), path_contains: "/serviceaccounts/".to_owned(), kind, times: 1 });
        let hint = create(&cluster, &objects, |_, _| ()).await.unwrap_err().hint.unwrap();
        assert!(hint.contains(&format!("`plumbline status{option}`")), "{hint}");
        assert_eq!(hint.matches(&format!("`plumbline delete{option}`")).count(), 2, "{hint}");
    }
    // A role of the whole cluster has the namespace in a label.
    let (double, cluster) = bed().await;
    double.put("clusterroles", role());
    let kind = FaultKind::Status { code: 403, message: "it is forbidden".into(), retry_after: None };
    double.fault(Fault { method: Some("GET"), path_contains: "/clusterroles/".to_owned(), kind, times: 1 });
    let hint = create(&cluster, &[role()], |_, _| ()).await.unwrap_err().hint.unwrap();
    assert!(hint.contains("`plumbline delete -n ns`"), "{hint}");
}

#[tokio::test]
async fn a_role_whose_update_has_lost_its_answer_is_updated_and_rolled_back() {
    for fails in [false, true] {
        let (double, cluster) = bed().await;
        let mut earlier = role();
        earlier["rules"] = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        double.put("clusterroles", earlier.clone());
        let path_contains = format!("/clusterroles/{ROLE}");
        double.fault(Fault { method: Some("PUT"), path_contains, kind: FaultKind::LostAnswer, times: 1 });
        if fails {
            refuse(&double, "/configmaps");
        }
        let mut changes = Vec::new();
        let objects = [namespace(), role(), in_namespace("ConfigMap", "sonobuoy-config-cm")];
        let created = create(&cluster, &objects, |_, change| changes.push(change)).await;
        assert_eq!(created.is_err(), fails, "{created:?}");
        assert_eq!(changes[1], Change::Update);
        let expected = if fails { earlier } else { role() };
        assert_eq!(double.get("clusterroles", "", ROLE).unwrap()["rules"], expected["rules"]);
    }
}
