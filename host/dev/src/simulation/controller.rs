//! Simulates the DaemonSet controller and the kubelets of all nodes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{node, objects};
use crate::{ApiDouble, Result};

/// Interval for polling for new DaemonSets.
const LOOK: Duration = Duration::from_millis(50);
/// Number of pods to create before yielding to other tasks.
const BATCH: usize = 50;
/// Interval at which each kubelet updates the status of its idle node.
const NODE_BEAT: Duration = Duration::from_secs(300);

/// Runs the simulation until dropped. It ends early only with the error of a worker that could not
/// deliver its result.
///
/// `repeated` counts the heartbeats that had to be sent again.
pub(super) async fn play(double: ApiDouble, nodes: usize, at_once: usize, repeated: Arc<AtomicU64>) -> Result<()> {
    let slots = Arc::new(Semaphore::new(at_once.max(1)));
    let mut seen = BTreeSet::new();
    let mut lives = JoinSet::new();
    let mut looks = tokio::time::interval(LOOK);
    let mut beats = tokio::time::interval(NODE_BEAT / u32::try_from(nodes.max(1)).unwrap_or(u32::MAX));
    let mut beating = 0;
    loop {
        tokio::select! {
            _ = looks.tick() => {
                for daemon_set in double.list("daemonsets") {
                    let uid = daemon_set.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
                    if seen.insert(uid.to_owned()) {
                        lives.spawn(daemon(double.clone(), daemon_set, nodes, Arc::clone(&slots), Arc::clone(&repeated)));
                    }
                }
            }
            _ = beats.tick() => {
                double.update("nodes", "", &objects::node_name(beating), objects::beat);
                beating = (beating + 1) % nodes.max(1);
            }
            Some(lived) = lives.join_next() => lived??,
        }
    }
}

/// Simulates one DaemonSet: creates all its pods, and then runs each of them.
async fn daemon(
    double: ApiDouble,
    daemon_set: Value,
    nodes: usize,
    slots: Arc<Semaphore>,
    repeated: Arc<AtomicU64>,
) -> Result<()> {
    for n in 0..nodes {
        double.put("pods", objects::pod(&daemon_set, n));
        if n % BATCH == BATCH - 1 {
            tokio::task::yield_now().await;
        }
    }
    let mut pods = JoinSet::new();
    for n in 0..nodes {
        let slot = Arc::clone(&slots).acquire_owned().await?;
        let (double, pod, repeated) = (double.clone(), objects::pod(&daemon_set, n), Arc::clone(&repeated));
        pods.spawn(async move {
            let _slot = slot;
            node::live(&double, &pod, &objects::node_name(n), &repeated).await
        });
        while let Some(lived) = pods.try_join_next() {
            lived??;
        }
    }
    while let Some(lived) = pods.join_next().await {
        lived??;
    }
    Ok(())
}
