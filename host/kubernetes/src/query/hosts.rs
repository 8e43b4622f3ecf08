//! Queries the configuration and health of each node's kubelet.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

use super::fetch::{Fetch, get};
use super::node_list::Nodes;
use super::record::{Recorder, not_written};
use super::safe::is_safe_name;
use super::scratch::Scratch;
use crate::error::ClusterError;

/// Timeout of each of the two requests to a node. A node that is gone does not delay others.
const WITHIN: Duration = Duration::from_secs(30);

/// Maximum size of a kubelet's configuration in bytes. Usual ones have 5 KiB.
const MAX_CONFIG: usize = 1 << 20;

/// Nodes queried at once. The throttle limits it further.
const AT_ONCE: usize = 8;

/// Queries every ready node. A node that is not ready, or does not answer, is recorded, and the
/// others continue.
pub(super) async fn hosts(fetch: &Fetch, record: &Recorder<'_>, scratch: &Arc<Scratch>, nodes: &Nodes) {
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
    fetch.bytes_within(&what, request, MAX_CONFIG, WITHIN).await.map_err(|error| error.told(&what))
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
    match failed {
        None => written,
        Some(error) => Err(error),
    }
}

fn write(scratch: &Scratch, node: &str, name: &str, bytes: &[u8]) -> Result<usize, String> {
    let relative = format!("hosts/{node}/{name}");
    match scratch.write(&relative, bytes) {
        Ok(()) => Ok(1),
        Err(error) => Err(not_written(&scratch.place(&relative), &error)),
    }
}
