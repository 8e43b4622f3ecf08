//! What each node's kubelet says of itself: its configuration and its health.

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

/// How long a node may take for each of its two answers: a node that is gone holds up nobody else.
const WITHIN: Duration = Duration::from_secs(30);

/// The largest configuration of a kubelet; usual ones have 5 KiB.
const MAX_CONFIG: usize = 1 << 20;

/// Nodes asked at once; the throttle bounds it further.
const AT_ONCE: usize = 8;

/// Asks every node that is ready. A node that is not, or does not answer, is recorded, and the
/// others go on.
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

/// The code is written whatever it is; unless it is one of success, it is an error as well. Who was not answered by anybody writes none.
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
