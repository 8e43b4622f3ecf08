//! The results of a run, as any client reads them.

use std::time::{Duration, Instant};

use plumbline_core::Status;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_kubernetes::{Cluster, names, status};

use crate::Result;

/// How long the full status may lag behind the last status.
const FULL: Duration = Duration::from_secs(30);
/// Interval for polling the status.
const LOOK: Duration = Duration::from_millis(100);

/// Returns the number of results that arrived and passed. `last` is the last status of the run.
pub(crate) async fn passed(cluster: &Cluster, last: RunStatus) -> Result<usize> {
    let good =
        |entry: &&PluginStatus| entry.status == EntryStatus::Complete && entry.result_status == Some(Status::Passed);
    Ok(entries(cluster, last).await?.iter().filter(good).count())
}

async fn entries(cluster: &Cluster, last: RunStatus) -> Result<Vec<PluginStatus>> {
    if last.compacted.is_none() {
        return Ok(last.plugins.unwrap_or_default());
    }
    let deadline = Instant::now() + FULL;
    while Instant::now() < deadline {
        let full = status::full(cluster, names::DEFAULT_NAMESPACE).await?;
        if let Some(full) = full.filter(|full| full.status == RunPhase::Complete) {
            return Ok(full.plugins.unwrap_or_default());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err("the full status did not follow the last status".into())
}
