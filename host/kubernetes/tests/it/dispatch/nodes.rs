//! The list of nodes.

use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::list_nodes;
use serde_json::json;

use super::bed::refusal;
use crate::cluster;

fn fault(double: &ApiDouble, kind: FaultKind) {
    double.fault(Fault { method: Some("GET"), path_contains: "/api/v1/nodes".into(), kind, times: 1 });
}

#[tokio::test]
async fn nodes_are_read_page_by_page() {
    let double = ApiDouble::start().await.unwrap();
    for i in 0..1_100 {
        double.put(
            "nodes",
            json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{i:04}")},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }),
        );
    }
    let nodes = list_nodes(&cluster(&double).await).await.unwrap().nodes;
    assert_eq!(nodes.len(), 1_100);
    assert_eq!(nodes[1_099].name.as_str(), "n1099");
    assert!(nodes.iter().all(|node| node.ready));
    assert_eq!(double.requests().iter().filter(|request| request.path == "/api/v1/nodes").count(), 11);
}

#[tokio::test]
async fn a_list_whose_next_page_has_expired_is_restarted() {
    let double = ApiDouble::start().await.unwrap();
    for i in 0..600 {
        double.put("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{i:03}")}}));
    }
    let expired = refusal(410, "The provided continue parameter is too old");
    double.fault(Fault { method: Some("GET"), path_contains: "continue=".into(), kind: expired, times: 1 });
    let nodes = list_nodes(&cluster(&double).await).await.unwrap().nodes;
    assert_eq!(nodes.len(), 600, "none is missing and none is there twice");
    assert_eq!(double.requests().iter().filter(|request| request.path == "/api/v1/nodes").count(), 8);
}

#[tokio::test]
async fn an_account_that_may_not_list_nodes_gets_none_and_a_warning() {
    let double = ApiDouble::start().await.unwrap();
    double.put("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    let message =
        "nodes is forbidden: User \"u\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
    fault(&double, refusal(403, message));
    let list = list_nodes(&cluster(&double).await).await.unwrap();
    assert!(list.nodes.is_empty());
    assert!(
        list.warnings[0].contains(message) && list.warnings[0].contains("expect no results"),
        "{:?}",
        list.warnings
    );
}

#[tokio::test]
async fn other_failures_are_errors_and_passing_ones_are_not() {
    let double = ApiDouble::start().await.unwrap();
    double.put("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    let cluster = cluster(&double).await;
    fault(&double, refusal(400, "odd"));
    let error = list_nodes(&cluster).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to list nodes: odd");
    fault(&double, refusal(503, "away"));
    assert_eq!(list_nodes(&cluster).await.unwrap().nodes.len(), 1);
}
