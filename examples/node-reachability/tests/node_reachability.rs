//! The check on a recorded cluster and a network of the test.

use std::time::Duration;

use plumbline_module_node_reachability::NodeReachability;
use plumbline_sdk::network::{Connection, NetworkError};
use plumbline_sdk::testing::Case;
use serde_json::{Value, json};

fn node(name: &str, address: &str, ready: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "addresses": [{"type": "InternalIP", "address": address}],
        },
    })
}

fn pod(node: &str, address: &str) -> Value {
    json!({"metadata": {"name": format!("p-{node}")}, "spec": {"nodeName": node}, "status": {"podIP": address}})
}

fn open(address: &str) -> Result<Connection, NetworkError> {
    Ok(Connection { address: address.to_owned(), took: Duration::from_micros(1234) })
}

/// A case on node `a`.
fn case() -> Case {
    Case::new().env("NODE_NAME", "a").name("kubernetes.default.svc", Ok(vec!["10.96.0.1".to_owned()]))
}

#[test]
fn each_target_has_an_item_and_every_kind_of_failure_its_status() {
    let nodes = [("a", "192.0.2.1"), ("b", "192.0.2.2"), ("c", "192.0.2.3"), ("e", "192.0.2.5")];
    let mut nodes: Vec<Value> = nodes.map(|(name, address)| node(name, address, "True")).to_vec();
    nodes.push(node("d", "192.0.2.4", "Unknown"));
    let refused = || Err(NetworkError::Refused("failed to connect to 192.0.2.3:10250: refused".to_owned()));
    let run = case()
        .objects("v1", "nodes", nodes)
        .objects("v1", "pods", [pod("a", "10.0.0.1"), pod("b", "10.0.0.2"), pod("c", "10.0.0.3"), pod("d", "10.0.0.4")])
        .connection("10.0.0.2", 18099, open("10.0.0.2:18099"))
        .connection("10.0.0.3", 18099, Err(NetworkError::Timeout("`10.0.0.3:18099` did not answer".to_owned())))
        .connection("10.0.0.4", 18099, Err(NetworkError::Timeout("`10.0.0.4:18099` did not answer".to_owned())))
        .connection("192.0.2.2", 10250, open("192.0.2.2:10250"))
        .connection("192.0.2.3", 10250, refused())
        .connection("192.0.2.4", 10250, refused())
        .check::<NodeReachability>();
    assert_eq!(
        run.outline(),
        "names: -\n  kubernetes.default.svc: passed\n\
         pods: -\n  b: passed\n  c: failed\n  d: skipped\n  e: failed\n\
         kubelets: -\n  b: passed\n  c: failed\n  d: skipped\n  e: unknown\n"
    );
    let passed = run.items.iter().find(|item| item.name == "b").unwrap();
    assert!(passed.meta.contains(&("milliseconds".to_owned(), "1.2".to_owned())), "{passed:?}");
}

#[test]
fn a_cluster_of_one_node_has_nothing_to_reach() {
    let run = case()
        .objects("v1", "nodes", [node("a", "192.0.2.1", "True")])
        .objects("v1", "pods", [])
        .name("kubernetes.default.svc", Err(NetworkError::NotFound("it does not exist".to_owned())))
        .check::<NodeReachability>();
    assert_eq!(run.outline(), "names: -\n  kubernetes.default.svc: failed\nnodes: skipped\n");
}

#[test]
fn a_cluster_that_cannot_be_read_is_an_error() {
    let run = case().broken_objects("v1", "nodes", "forbidden").objects("v1", "pods", []).check::<NodeReachability>();
    assert_eq!(run.outcome, Err("forbidden".to_owned()));
}
