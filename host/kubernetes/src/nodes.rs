//! The nodes of a cluster, as needed for the expected results.

use std::collections::BTreeMap;

use plumbline_core::{Node, Taint};
use serde_json::{Map, Value};

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::retry::{Listing, PATIENCE, list};

/// Nodes per page of a list. A node has 10 to 20 KiB, mostly image names, and takes five times as
/// much as JSON in memory.
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
    let listing = Listing {
        what: "list nodes",
        path: "/api/v1/nodes",
        labels: None,
        page: NODES_PAGE,
        metadata_only: false,
        patience: PATIENCE,
    };
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
fn node(object: &Map<String, Value>) -> Result<Node, String> {
    let at = |path: &[&str]| path.iter().skip(1).try_fold(object.get(*path.first()?)?, |value, key| value.get(key));
    let text = |path: &[&str]| at(path).and_then(Value::as_str).map(str::to_owned);
    let name = text(&["metadata", "name"]).unwrap_or_default();
    let name = name.parse().map_err(|error| format!("a node is left out, and no result is expected of it: {error}"))?;
    let labels: BTreeMap<String, String> = at(&["metadata", "labels"])
        .and_then(Value::as_object)
        .map(|labels| {
            labels.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        })
        .unwrap_or_default();
    let conditions = at(&["status", "conditions"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let label = |key: &str| labels.get(key).cloned().unwrap_or_default();
    let info = |field: &str| text(&["status", "nodeInfo", field]).filter(|text| !text.is_empty());
    Ok(Node {
        name,
        taints: at(&["spec", "taints"])
            .and_then(Value::as_array)
            .map(|taints| taints.iter().filter_map(taint).collect())
            .unwrap_or_default(),
        ready: conditions.iter().any(|condition| {
            let is = |key: &str, wanted: &str| condition.get(key).and_then(Value::as_str) == Some(wanted);
            is("type", "Ready") && is("status", "True")
        }),
        unschedulable: at(&["spec", "unschedulable"]).and_then(Value::as_bool).unwrap_or_default(),
        os: info("operatingSystem").unwrap_or_else(|| label("kubernetes.io/os")),
        arch: info("architecture").unwrap_or_else(|| label("kubernetes.io/arch")),
        labels,
    })
}

fn taint(taint: &Value) -> Option<Taint> {
    let text = |key: &str| taint.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Taint { key: text("key")?, value: text("value").unwrap_or_default(), effect: text("effect")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(items: Value) -> NodeList {
        collect(items.as_array().unwrap().iter().map(|item| node(item.as_object().unwrap())).collect())
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
    fn whatever_is_missing_or_odd_is_unknown_and_a_node_without_a_good_name_is_told() {
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
}
