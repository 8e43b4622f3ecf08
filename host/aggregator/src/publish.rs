//! The status as a file, for other programs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_archive::disk::Disk;
use plumbline_core::run_status::RunStatus;
use serde::{Deserialize, Serialize};

use crate::state::State;

/// Minimum interval between writes. Otherwise a busy plugin's progress would cause hundreds of
/// writes per second.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum interval between writes, so that readers can tell a dead aggregator from an idle one.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// Content of the status file: the status, and the time of the write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Time of the write. If it is older than a few times [`HEARTBEAT`], the aggregator is gone.
    pub at: jiff::Timestamp,
    /// The status.
    #[serde(flatten)]
    pub status: RunStatus,
}

/// Writes the status to `path` on every change, until dropped.
pub(crate) async fn publish(state: State, disk: Disk, path: PathBuf) {
    let mut changes = state.changes();
    loop {
        changes.mark_unchanged();
        write(&state, &disk, &path).await;
        tokio::time::sleep(PAUSE).await;
        // Write again after a change or a timeout.
        let _ = tokio::time::timeout(HEARTBEAT, changes.changed()).await;
    }
}

/// Writes the status once. A failure is only logged, because it does not affect the run.
pub(crate) async fn write(state: &State, disk: &Disk, path: &Path) {
    let published = Published { at: jiff::Timestamp::now(), status: state.status() };
    let (disk, path) = (disk.clone(), path.to_owned());
    let written = tokio::task::spawn_blocking(move || {
        let bytes = serde_json::to_vec(&published)?;
        disk.replace(&path, &bytes, 0o644)
    });
    match written.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("failed to write the status file: {error}"),
        Err(error) => tracing::warn!("failed to write the status file: {error}"),
    }
}
