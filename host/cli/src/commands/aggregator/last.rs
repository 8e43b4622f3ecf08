//! What stays when a run is over: a container that is started again after the end tells it once more instead of running anew.

use std::path::{Path, PathBuf};

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
            tracing::warn!("`{}` cannot be read, so the run begins anew: {error}", path(dir).display());
            None
        }
    }
}

/// Remembers it.
pub(super) fn keep(dir: &Path, status: &RunStatus) {
    let kept = serde_json::to_vec(status).map_err(std::io::Error::from).and_then(|bytes| {
        let file = tempfile::NamedTempFile::new_in(dir)?;
        std::fs::write(file.path(), bytes)?;
        file.persist(path(dir)).map(|_| ()).map_err(|error| error.error)
    });
    if let Err(error) = kept {
        tracing::warn!("the end of the run cannot be remembered in `{}`: {error}", dir.display());
    }
}
