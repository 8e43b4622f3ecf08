//! Tests of the health of nodes and pods.

use plumbline_sdk::testing::Case;
use serde_json::json;

use crate::support::{checks, shown};

const LIST: &str = r#"
- id: PODS-001
  name: nearly all pods are healthy
  healthy: pods
  want: ">= 98 %"
- {id: PODS-002, unhealthy: pods, want: "<= 2"}
- {id: NODES-001, healthy: nodes, want: "== 100 %"}
- {id: NODES-002, healthy: nodes, want: ">= 3"}
"#;

/// Returns the health in the format of a survey.
fn health(pods: u64, bad: u64) -> String {
    let details: Vec<_> = (0..pods)
        .map(|at| match at < bad {
            true => json!({"name": format!("web-{at}"), "healthy": false, "ready": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available", "namespace": "shop"}),
            false => json!({"name": format!("web-{at}"), "healthy": true, "ready": "Ready", "namespace": "shop"}),
        })
        .collect();
    json!({
        "node_health": {"total_nodes": 3, "healthy_nodes": 3, "details": [
            {"name": "n1", "healthy": true, "ready": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
        ]},
        "pod_health": {"total_nodes": pods, "healthy_nodes": pods - bad, "details": details},
        "api_version": "v1.31.0",
        "error_summary": {"Errors": {"podlogs/kube-system/etcd-n1/logs/etcd.txt": 3}}
    })
    .to_string()
}

/// Returns the health of 28 pods, without those that could not be read.
fn lacks(pods: &[&str]) -> String {
    let mut health: serde_json::Value = serde_json::from_str(&health(28, 0)).unwrap();
    health["incomplete"] = json!({"pods": pods});
    health.to_string()
}

fn with(health: impl Into<Vec<u8>>) -> Case {
    checks(LIST).file("meta/clusterhealth.json", health)
}

#[test]
fn shares_and_numbers_of_healthy_nodes_and_pods() {
    insta::assert_snapshot!(shown(&with(health(28, 1))), @"
    PODS-001 FAILED: nearly all pods are healthy: want >= 98 %, got 96.43 % (27 of 28) | not healthy: shop/web-0 (Unschedulable)
    PODS-002 passed: unhealthy pods: want <= 2, got 1 of 28 | not healthy: shop/web-0 (Unschedulable)
    NODES-001 passed: healthy nodes: want == 100 %, got 100 % (3 of 3) | 
    NODES-002 passed: healthy nodes: want >= 3, got 3 of 3 | 
    ");
    let many = shown(&with(health(200, 9)));
    assert!(many.contains("95.5 % (191 of 200) | not healthy: shop/web-0 (Unschedulable), "), "{many}");
    assert!(many.contains("shop/web-4 (Unschedulable), 4 more\n"), "{many}");
}

#[test]
fn unknown_health_does_not_pass() {
    for (case, says) in [
        (checks(LIST), "`meta/clusterhealth.json` not found: runs in a cluster write it"),
        (with("{}"), "`meta/clusterhealth.json` lists no pods: they were not queried"),
        (with("[1"), "`meta/clusterhealth.json` has an unexpected form"),
        (with(r#"{"pod_health": {"total_nodes": 1, "healthy_nodes": 2}}"#), "counts 2 healthy pods among 1"),
        (with(r#"{"pod_health": {"total_nodes": "many"}}"#), "has an unexpected form"),
        (
            with(lacks(&["failed to list pods"])),
            "`meta/clusterhealth.json` does not list all pods: failed to list pods",
        ),
        (
            checks(LIST).broken_file("meta/clusterhealth.json", "{", "the disk is gone"),
            "failed to read `meta/clusterhealth.json`: the disk is gone",
        ),
    ] {
        let shown = shown(&case);
        let first = shown.lines().next().unwrap();
        assert!(first.starts_with("PODS-001 unknown: ") && first.contains(says), "{first}");
    }
    // The nodes are complete.
    let nodes = shown(&with(lacks(&["failed to list pods"])));
    assert!(nodes.contains("NODES-001 passed"), "{nodes}");
}
