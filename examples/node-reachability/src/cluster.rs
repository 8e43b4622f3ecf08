//! The other nodes of the cluster, and the pods of this check on them.

use std::collections::BTreeMap;

use plumbline_sdk::{Context, ObjectQuery};
use serde_json::Value;

/// Whether pods on a node should answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    NotReady,
}

/// Another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) node: String,
    pub(crate) state: State,
    /// The internal address of the node.
    pub(crate) address: Option<String>,
    /// The address of the pod on it.
    pub(crate) pod: Option<String>,
}

/// Returns all nodes but `own`, with the pods of `plugin`, sorted by name.
pub(crate) fn peers(context: &mut Context, plugin: &str, own: &str) -> Result<Vec<Peer>, String> {
    let mut pods = BTreeMap::new();
    let of_plugin = ObjectQuery::new("v1", "pods").labels(format!("component=sonobuoy,sonobuoy-plugin={plugin}"));
    for pod in context.list(&of_plugin)? {
        let pod = pod?;
        let is_deleted = pod.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        if let (false, Some(node), Some(address)) =
            (is_deleted, text(&pod, "/spec/nodeName"), text(&pod, "/status/podIP"))
        {
            pods.insert(node.to_owned(), address.to_owned());
        }
    }
    let mut peers = Vec::new();
    for node in context.list(&ObjectQuery::new("v1", "nodes"))? {
        let node = node?;
        let Some(name) = text(&node, "/metadata/name").filter(|name| *name != own) else { continue };
        let state = if is_ready(&node) { State::Ready } else { State::NotReady };
        let (address, pod) = (internal_address(&node).map(str::to_owned), pods.remove(name));
        peers.push(Peer { node: name.to_owned(), state, address, pod });
    }
    peers.sort_by(|a, b| a.node.cmp(&b.node));
    Ok(peers)
}

fn is_ready(node: &Value) -> bool {
    let is_ready =
        |condition: &Value| text(condition, "/type") == Some("Ready") && text(condition, "/status") == Some("True");
    list(node, "/status/conditions").any(is_ready)
}

fn internal_address(node: &Value) -> Option<&str> {
    let address = list(node, "/status/addresses").find(|address| text(address, "/type") == Some("InternalIP"))?;
    text(address, "/address")
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}
