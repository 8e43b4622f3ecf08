//! Pods and nodes for tests.

use jiff::Timestamp;
use plumbline_aggregator::WorkerContact;
use serde_json::{Value, json};

use super::options::Watched;
use crate::nodes::NodeView;
use crate::pod_view::PodView;

/// Returns a pod of session `s1`. The plugin's container `scan` is in state `plugin`, the worker in
/// state `worker`, and a sidecar `side` is running.
pub(super) fn pod_with(name: &str, node: &str, plugin: Value, worker: Value) -> Value {
    let status = |name: &str, state: &Value| {
        let mut status = json!({"name": name, "restartCount": 0, "state": state});
        if let (Some(status), Some(more)) = (status.as_object_mut(), state.as_object()) {
            status.extend(
                more.iter()
                    .filter(|(key, _)| *key == "restartCount" || *key == "lastState")
                    .map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        status
    };
    json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}"), "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"component": "sonobuoy", "sonobuoy-component": "plugin", "sonobuoy-run": "s1"}},
        "spec": {"nodeName": node, "containers": [
            {"name": "scan", "image": "example.org/scan:1", "resources": {"limits": {"memory": "128Mi"}}},
            {"name": "side", "image": "example.org/side:1"},
            {"name": "sonobuoy-worker", "image": "example.org/worker:1"},
        ]},
        "status": {"phase": "Running", "containerStatuses": [
            status("scan", &plugin), status("side", &running()), status("sonobuoy-worker", &worker),
        ]},
    })
}

pub(super) fn running() -> Value {
    json!({"running": {}})
}

pub(super) fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

pub(super) fn ended(code: i64, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason}})
}

pub(super) fn view(pod: &Value) -> PodView {
    PodView::read(pod).unwrap()
}

pub(super) fn node(name: &str, ready: bool) -> NodeView {
    let status = if ready { "True" } else { "Unknown" };
    let node = json!({
        "metadata": {"name": name},
        "spec": {"taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": status, "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]},
    });
    NodeView::read(&node).unwrap()
}

/// Returns plugin `p` of session `s1` on these nodes, or once per cluster.
pub(super) fn watched(nodes: &[&str]) -> Watched {
    let keys = if nodes.is_empty() { &["global"] } else { nodes };
    Watched {
        plugin: "p".parse().unwrap(),
        session: "s1".into(),
        per_node: !nodes.is_empty(),
        missing: keys.iter().map(|node| format!("p/{node}").parse().unwrap()).collect(),
        container: "scan".into(),
        // The last heartbeat is always recent.
        heard: WorkerContact::new(|_| Some(Timestamp::MAX)),
    }
}
