//! What stays when a run is over: a container that is started again after the end tells it once more instead of running anew.

use std::io;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::write_atomic;
use plumbline_core::RunStatus;

/// The file, below the aggregator's directory.
const FILE: &str = ".plumbline-finished.json";

fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// The last status of a run that was finished here.
pub(super) fn load(dir: &Path) -> Option<RunStatus> {
    let bytes = std::fs::read(path(dir)).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(status) => Some(status),
        Err(error) => {
            tracing::warn!("failed to read `{}`, so the run begins again: {error}", path(dir).display());
            None
        }
    }
}

/// Writes the last status to `dir`, so that it survives a power cut.
pub(super) fn keep(dir: &Path, status: &RunStatus) -> io::Result<()> {
    write_atomic(&path(dir), &serde_json::to_vec(status)?)
}

/// As [`keep`], where a failure costs only the newest status: an earlier one is there.
pub(super) fn keep_last(dir: &Path, status: &RunStatus) {
    if let Err(error) = keep(dir, status) {
        tracing::warn!("failed to record the end of the run in `{}`: {error}", dir.display());
    }
}
