//! Lists the nodes of the cluster, and which of them are ready.

use std::collections::BTreeSet;
use std::io;

use serde_json::Value;

use super::fetch::Fetch;
use super::list::{Selection, Sink, list};
use crate::error::ClusterError;

/// The nodes of a cluster.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// The names, in list order.
    pub(super) names: Vec<String>,
    /// Nodes that are not ready. Requests to their kubelets would only time out.
    pub(super) away: BTreeSet<String>,
}

impl Nodes {
    pub(super) async fn list(fetch: &Fetch) -> Result<Self, ClusterError> {
        let (nodes, _) = list(fetch, "list the nodes", "/api/v1/nodes", &Selection::default(), Self::default()).await?;
        Ok(nodes)
    }
}

impl Sink for Nodes {
    fn item(&mut self, item: Value) -> io::Result<()> {
        let Some(name) = item.pointer("/metadata/name").and_then(Value::as_str) else { return Ok(()) };
        let conditions = item.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let is = |condition: &Value, key: &str, value: &str| condition.get(key).and_then(Value::as_str) == Some(value);
        let mut ready = conditions.filter(|condition| is(condition, "type", "Ready"));
        if ready.any(|condition| !is(condition, "status", "True")) {
            self.away.insert(name.to_owned());
        }
        self.names.push(name.to_owned());
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        *self = Self::default();
        Ok(())
    }
}
