//! The status as a file, for whoever looks from outside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_archive::disk::Disk;
use plumbline_core::run_status::RunStatus;
use serde::{Deserialize, Serialize};

use crate::state::State;

/// How often the file is written at most: progress of a busy plugin would otherwise write it hundreds of times a second.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is written at least, so that a reader can tell a dead aggregator from a quiet one.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// What the status file holds: the status, and when it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// When it was written. Older than a few times [`HEARTBEAT`]: the aggregator is gone.
    pub at: jiff::Timestamp,
    /// The status.
    #[serde(flatten)]
    pub status: RunStatus,
}

/// Writes the status into `path` on every change, until dropped.
pub(crate) async fn publish(state: State, disk: Disk, path: PathBuf) {
    let mut changes = state.changes();
    loop {
        changes.mark_unchanged();
        write(&state, &disk, &path).await;
        tokio::time::sleep(PAUSE).await;
        // Either way it is time to write again.
        let _ = tokio::time::timeout(HEARTBEAT, changes.changed()).await;
    }
}

/// Writes it once. A file that cannot be written costs outside viewers their view, not the run.
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
