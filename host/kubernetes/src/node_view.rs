//! Parses the nodes that the monitor watches.

use plumbline_core::NodeName;
use serde::Deserialize;
use serde_json::Value;

use crate::pod_view::line;

/// The fields of a node that the monitor uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NodeView {
    pub(crate) name: String,
    pub(crate) ready: bool,
    /// Why the node is not ready.
    pub(crate) reason: Option<String>,
    /// The taints in the usual notation: `key=value:effect`.
    pub(crate) taints: Vec<String>,
}

#[derive(Deserialize)]
struct NodeObject {
    metadata: Metadata,
    #[serde(default)]
    spec: NodeSpec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Default, Deserialize)]
struct NodeSpec {
    taints: Option<Vec<TaintObject>>,
}

#[derive(Deserialize)]
struct TaintObject {
    key: String,
    value: Option<String>,
    effect: Option<String>,
}

#[derive(Default, Deserialize)]
struct NodeStatus {
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: Option<String>,
    message: Option<String>,
}

impl NodeView {
    /// Parses a node. Returns `None` if the object is malformed, or if its name is not safe in a
    /// path.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        let node = NodeObject::deserialize(object).ok()?;
        let conditions = node.status.conditions.unwrap_or_default();
        let ready = conditions.into_iter().find(|condition| condition.kind == "Ready");
        let reason = ready.as_ref().map(|condition| {
            let parts = [line(condition.reason.as_deref()), line(condition.message.as_deref())];
            parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
        });
        Some(Self {
            name: Some(node.metadata.name).filter(|name| name.parse::<NodeName>().is_ok())?,
            ready: ready.is_some_and(|condition| condition.status == "True"),
            reason: reason.filter(|told| !told.is_empty()),
            taints: node.spec.taints.iter().flatten().map(taint).collect(),
        })
    }
}

fn taint(taint: &TaintObject) -> String {
    let effect = taint.effect.as_deref().unwrap_or_default();
    match taint.value.as_deref() {
        None | Some("") => format!("{}:{effect}", taint.key),
        Some(value) => format!("{}={value}:{effect}", taint.key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(node: Value) -> Option<NodeView> {
        NodeView::read(&node)
    }

    #[test]
    fn a_node_without_a_condition_is_not_ready() {
        let node = read(json!({"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}));
        assert_eq!(
            node,
            Some(NodeView { name: "n".into(), taints: vec!["a:NoSchedule".into()], ..NodeView::default() })
        );
        let ready =
            json!({"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet\nstopped"});
        let node = read(json!({"metadata": {"name": "n"}, "spec": {}, "status": {"conditions": [ready]}})).unwrap();
        assert_eq!((node.ready, node.reason.as_deref()), (false, Some("NodeStatusUnknown: Kubelet stopped")));
    }

    #[test]
    fn a_name_that_could_leave_a_path_is_refused() {
        assert_eq!(read(json!({"metadata": {"name": "../n"}, "spec": {}})), None);
        assert_eq!(read(json!([])), None);
    }
}
