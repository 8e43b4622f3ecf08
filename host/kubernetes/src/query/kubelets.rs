//! Lists the nodes, and queries the configuration and health of their kubelets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fetch::{AT_ONCE, Fetch, get};
use super::list::{Selection, collect};
use super::record::{Recorder, not_written};
use super::store::Scratch;
use crate::error::ClusterError;
use crate::names::is_safe_name;
use crate::nodes::is_ready;

#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) names: Vec<String>,
    /// Nodes that are not ready. Requests to their kubelets would only time out.
    pub(super) away: BTreeSet<String>,
}

impl Nodes {
    pub(super) async fn list(fetch: &Fetch) -> Result<Self, ClusterError> {
        let read = |node: Value| {
            let name = node.pointer("/metadata/name")?.as_str()?.to_owned();
            Some((name, is_ready(&node)))
        };
        let nodes = collect(fetch, "list the nodes", "/api/v1/nodes", &Selection::default(), read).await?;
        let away = nodes.iter().filter(|(_, ready)| *ready == Some(false)).map(|(name, _)| name.clone()).collect();
        Ok(Self { away, names: nodes.into_iter().map(|(name, _)| name).collect() })
    }
}

/// Timeout of each of the two requests to a node. A node that is gone does not delay others.
const WITHIN: Duration = Duration::from_secs(30);

/// Maximum size of a kubelet's configuration in bytes. Usual ones have 5 KiB.
const MAX_CONFIG: usize = 1 << 20;

/// Queries every ready node. A node that is not ready, or does not answer, is recorded, and the
/// others continue.
pub(super) async fn query_kubelets(fetch: &Fetch, record: &Recorder<'_>, scratch: &Arc<Scratch>, nodes: &Nodes) {
    futures_util::stream::iter(&nodes.names)
        .for_each_concurrent(AT_ONCE, |node| async move {
            if !is_safe_name(node) {
                return record.problem("hosts", "", format!("{node:?} is not a name of a node"));
            }
            if nodes.away.contains(node) {
                return record.problem(&format!("hosts/{node}"), "", format!("not asked: node `{node}` is not ready"));
            }
            let began = Instant::now();
            let result = configz(fetch, scratch, node).await;
            record.query(&format!("hosts/{node}/configz"), "", began, result);
            let began = Instant::now();
            let result = healthz(fetch, scratch, node).await;
            record.query(&format!("hosts/{node}/healthz"), "", began, result);
        })
        .await;
}

async fn ask(fetch: &Fetch, node: &str, path: &str) -> Result<Vec<u8>, ClusterError> {
    let what = format!("ask the kubelet of node `{node}` for `{path}`");
    let request = get(&what, &format!("/api/v1/nodes/{node}/proxy/{path}"))?;
    fetch.bytes(&what, request, MAX_CONFIG, WITHIN).await.map_err(|error| error.into_cluster(&what))
}

async fn configz(fetch: &Fetch, scratch: &Scratch, node: &str) -> Result<usize, String> {
    let bytes = ask(fetch, node, "configz").await.map_err(|error| error.to_string())?;
    serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
        .map_err(|error| format!("the configuration of node `{node}` is not JSON: {error}"))?;
    write(scratch, node, "configz.json", &bytes)
}

/// Writes the status code of the health check, whatever it is. A code other than success is also an
/// error.
///
/// Without any response, nothing is written.
async fn healthz(fetch: &Fetch, scratch: &Scratch, node: &str) -> Result<usize, String> {
    let (code, failed) = match ask(fetch, node, "healthz").await {
        Ok(_) => (200, None),
        Err(error) => (error.code.ok_or_else(|| error.to_string())?, Some(error.to_string())),
    };
    let written = write(scratch, node, "healthz.json", format!("{}\n", json!({"status": code})).as_bytes());
    failed.map_or(written, Err)
}

fn write(scratch: &Scratch, node: &str, name: &str, bytes: &[u8]) -> Result<usize, String> {
    let relative = format!("hosts/{node}/{name}");
    scratch.write(&relative, bytes).map(|()| 1).map_err(|error| not_written(&scratch.place(&relative), &error))
}
