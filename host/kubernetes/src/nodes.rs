//! Reads the nodes of a cluster: for expected results, for the monitor and for surveys.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plumbline_core::{Node, NodeName, Taint};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::pod_view::{line, text_at};
use crate::retry::{Listing, list};

/// Nodes per page of a list. A node has 10 to 20 KiB, mostly image names.
pub(crate) const NODES_PAGE: u32 = 100;

/// The nodes of a cluster, and warnings about the list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeList {
    /// The nodes, by name.
    pub nodes: Vec<Node>,
    /// Sentences about what is missing from the list.
    pub warnings: Vec<String>,
}

/// Lists all nodes.
///
/// If the account may not list nodes, the list is empty and has a warning. That is enough for
/// plugins that run once per cluster.
///
/// # Errors
/// Returns an error if the API server does not answer, or rejects the request for another reason.
pub async fn list_nodes(cluster: &Cluster) -> Result<NodeList, ClusterError> {
    let listing = Listing { page: NODES_PAGE, ..Listing::new("list nodes", "/api/v1/nodes") };
    match list(cluster, &listing, |object| node(&object)).await {
        Ok(nodes) => Ok(collect(nodes)),
        Err(error) if error.is_forbidden() => Ok(NodeList {
            nodes: Vec::new(),
            warnings: vec![format!(
                "the nodes are not known: {}; plugins with the driver `DaemonSet` expect no results: allow the account to `list` `nodes`",
                error.cause
            )],
        }),
        Err(error) => Err(error),
    }
}

fn collect(nodes: Vec<Result<Node, String>>) -> NodeList {
    let mut list = NodeList::default();
    for node in nodes {
        match node {
            Ok(node) => list.nodes.push(node),
            Err(reason) => list.warnings.push(reason),
        }
    }
    list.nodes.sort_by(|a, b| a.name.cmp(&b.name));
    list.nodes.dedup_by(|a, b| a.name == b.name);
    list
}

/// Parses one node. Only the name is required.
fn node(object: &Value) -> Result<Node, String> {
    let name = text_at(object, "/metadata/name").parse();
    let name = name.map_err(|error| format!("a node is left out, and no result is expected of it: {error}"))?;
    let labels: BTreeMap<String, String> = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    let info = |field: &str, label: &str| match text_at(object, &format!("/status/nodeInfo/{field}")) {
        "" => labels.get(label).cloned().unwrap_or_default(),
        text => text.to_owned(),
    };
    Ok(Node {
        name,
        taints: taints(object),
        ready: is_ready(object) == Some(true),
        unschedulable: object.pointer("/spec/unschedulable").and_then(Value::as_bool).unwrap_or_default(),
        os: info("operatingSystem", "kubernetes.io/os"),
        arch: info("architecture", "kubernetes.io/arch"),
        labels,
    })
}

fn taints(node: &Value) -> Vec<Taint> {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array).into_iter().flatten();
    let text = |taint: &Value, key: &str| taint.get(key).and_then(Value::as_str).map(str::to_owned);
    let read = |taint: &Value| {
        Some(Taint {
            key: text(taint, "key")?,
            value: text(taint, "value").unwrap_or_default(),
            effect: text(taint, "effect")?,
        })
    };
    taints.filter_map(read).collect()
}

pub(crate) fn ready_condition(node: &Value) -> Option<&Value> {
    let mut conditions = node.pointer("/status/conditions")?.as_array()?.iter();
    conditions.find(|condition| text_at(condition, "/type") == "Ready")
}

/// Returns whether a node is ready, or `None` if it does not say.
pub(crate) fn is_ready(node: &Value) -> Option<bool> {
    ready_condition(node).map(|condition| text_at(condition, "/status") == "True")
}

/// The fields of a node that the monitor uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NodeView {
    pub(crate) name: String,
    pub(crate) ready: bool,
    pub(crate) reason: Option<String>,
    /// The taints in the usual notation: `key=value:effect`.
    pub(crate) taints: Vec<String>,
    /// The conditions that are not as on a healthy node.
    pub(crate) conditions: Vec<Condition>,
}

/// A condition of a node that is not as on a healthy node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The type, such as `DiskPressure`.
    pub(crate) kind: String,
    /// The status, the reason and the message.
    pub(crate) text: String,
    pub(crate) since: Option<Timestamp>,
}

impl NodeView {
    /// Parses a node. Returns `None` if its name is not safe in a path.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        let name = text_at(object, "/metadata/name");
        name.parse::<NodeName>().ok()?;
        let taint = |taint: Taint| match taint.value.as_str() {
            "" => format!("{}:{}", taint.key, taint.effect),
            value => format!("{}={value}:{}", taint.key, taint.effect),
        };
        Some(Self {
            name: name.to_owned(),
            ready: is_ready(object) == Some(true),
            reason: ready_condition(object).map(why).filter(|why| !why.is_empty()),
            taints: taints(object).into_iter().map(taint).collect(),
            conditions: conditions(object),
        })
    }
}

/// Returns the reason and the message of a condition.
fn why(condition: &Value) -> String {
    let parts = [line(text_at(condition, "/reason")), line(text_at(condition, "/message"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

/// The status of a condition that the control plane cannot know.
const UNKNOWN: &str = "Unknown";

/// The most conditions of a node that are kept.
const MAX_CONDITIONS: usize = 20;

/// Returns the conditions that are not as on a healthy node. By convention, `Ready` and types that
/// end with it are `True` there, and all others are `False`.
///
/// If a kubelet is silent, the control plane sets all its conditions to `Unknown`. Then `Ready` says
/// everything.
fn conditions(node: &Value) -> Vec<Condition> {
    let is_silent = ready_condition(node).is_some_and(|ready| text_at(ready, "/status") == UNKNOWN);
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let read = |condition: &Value| {
        let (kind, status) = (text_at(condition, "/type"), text_at(condition, "/status"));
        let healthy = if kind.ends_with("Ready") { "True" } else { "False" };
        let repeats_ready = is_silent && status == UNKNOWN && kind != "Ready";
        if kind.is_empty() || status == healthy || repeats_ready {
            return None;
        }
        let why = Some(why(condition)).filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
        Some(Condition {
            kind: line(kind)?,
            text: format!("{kind} is {status}{why}"),
            since: text_at(condition, "/lastTransitionTime").parse().ok(),
        })
    };
    conditions.filter_map(read).take(MAX_CONDITIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(items: Value) -> NodeList {
        collect(items.as_array().unwrap().iter().map(node).collect())
    }

    #[test]
    fn a_node_is_read_with_all_that_expectations_look_at() {
        let list = read(json!([{
            "metadata": {"name": "worker-1", "labels": {"disk": "ssd", "kubernetes.io/arch": "arm64"}},
            "spec": {"unschedulable": true, "taints": [
                {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
            ]},
            "status": {
                "conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": "True"}],
                "nodeInfo": {"operatingSystem": "linux"},
            },
        }]));
        let node = &list.nodes[0];
        assert_eq!(node.name.as_str(), "worker-1");
        assert!(node.ready && node.unschedulable);
        assert_eq!((node.os.as_str(), node.arch.as_str()), ("linux", "arm64"));
        assert_eq!(node.labels["disk"], "ssd");
        assert_eq!(node.taints.len(), 2);
        assert_eq!((node.taints[0].value.as_str(), node.taints[1].value.as_str()), ("db", ""));
    }

    #[test]
    fn missing_or_invalid_fields_are_unknown_and_an_invalid_name_is_reported() {
        let list = read(json!([
            {"metadata": {"name": "b", "labels": null}, "spec": [], "status": {"conditions": "none"}},
            {"metadata": {"name": "a", "labels": {"x": 1}}, "spec": {"taints": [{"key": "k"}, null]},
             "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
            {"metadata": {"name": "Bad_Name"}},
            {},
        ]));
        assert_eq!(list.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(list.nodes.iter().all(|node| !node.ready && node.taints.is_empty() && node.labels.is_empty()));
        assert_eq!(list.warnings.len(), 2);
        assert!(list.warnings[0].contains("Bad_Name"), "{:?}", list.warnings);
    }

    fn view(node: Value) -> Option<NodeView> {
        NodeView::read(&node)
    }

    #[test]
    fn a_silent_kubelet_is_one_condition() {
        let kinds = |ready: &str| {
            let conditions = json!([
                {"type": "MemoryPressure", "status": "Unknown"},
                {"type": "KernelDeadlock", "status": "True"},
                {"type": "Ready", "status": ready},
            ]);
            let node = view(json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}})).unwrap();
            node.conditions.into_iter().map(|condition| condition.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds("Unknown"), ["KernelDeadlock", "Ready"]);
        assert_eq!(kinds("True"), ["MemoryPressure", "KernelDeadlock"]);
    }

    #[test]
    fn a_node_without_a_condition_is_not_ready() {
        let node = view(json!({"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}));
        assert_eq!(
            node,
            Some(NodeView { name: "n".into(), taints: vec!["a:NoSchedule".into()], ..NodeView::default() })
        );
        let ready =
            json!({"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet\nstopped"});
        let node = view(json!({"metadata": {"name": "n"}, "spec": {}, "status": {"conditions": [ready]}})).unwrap();
        assert_eq!((node.ready, node.reason.as_deref()), (false, Some("NodeStatusUnknown: Kubelet stopped")));
    }

    #[test]
    fn conditions_that_are_not_as_on_a_healthy_node_are_kept() {
        let conditions = json!([
            {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "NetworkingReady", "status": "True"},
            {"type": "MemoryPressure", "status": "False"},
            {"type": "DiskPressure", "status": "True", "lastTransitionTime": "yesterday"},
            {"type": "KernelDeadlock", "status": "False"},
            {"status": "True"},
        ]);
        let node = view(json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}})).unwrap();
        let condition = |kind: &str, text: &str, since: Option<&str>| Condition {
            kind: kind.into(),
            text: text.into(),
            since: since.map(|since| since.parse().unwrap()),
        };
        let want = [
            condition("Ready", "Ready is Unknown: NodeStatusUnknown", Some("2026-01-01T00:00:00Z")),
            condition("DiskPressure", "DiskPressure is True", None),
        ];
        assert_eq!(node.conditions, want);
    }

    #[test]
    fn a_name_that_could_leave_a_path_is_refused() {
        assert_eq!(view(json!({"metadata": {"name": "../n"}, "spec": {}})), None);
        assert_eq!(view(json!([])), None);
    }
}
