//! The local runs of the user, so that another terminal finds them: one small file per run in the
//! state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_archive::disk::Disk;
use plumbline_core::RunId;
use plumbline_core::run_status::RunStatus;
use serde::{Deserialize, Serialize};

/// Finished runs that are recorded.
const MAX_REMEMBERED: usize = 20;

/// The record of a local run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocalRun {
    /// The ID of the run.
    pub run: RunId,
    /// When the run started.
    pub started: Timestamp,
    /// Its working directory, which is removed when the run succeeds.
    pub work: PathBuf,
    /// Its archive, once it exists.
    pub archive: Option<PathBuf>,
    /// Its last status, once it has finished.
    pub status: Option<RunStatus>,
}

impl LocalRun {
    /// Whether the run's ID starts with `id`.
    pub fn has_id(&self, id: &str) -> bool {
        self.run.to_string().starts_with(id) || self.run.short().starts_with(id)
    }

    /// Whether the run can be continued, once no process works on it.
    pub fn is_unfinished(&self) -> bool {
        self.archive.is_none() && self.work.join("run.json").is_file()
    }

    /// Whether a process works on the run, and so holds the lock of its working directory.
    pub fn is_running(&self) -> bool {
        let lock = fs::File::open(self.work.join("lock"));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    }
}

/// The directory in which a run with the working directory `work` keeps the output of its plugins.
#[must_use]
pub fn log_dir(work: &Path) -> PathBuf {
    work.join("tree/podlogs/local")
}

/// The file with the output of a plugin on `node`, while the run is in progress.
#[must_use]
pub fn log_file(work: &Path, plugin: &str, node: &str) -> PathBuf {
    log_dir(work).join(plugin).join("logs").join(format!("{node}.txt"))
}

/// `$XDG_STATE_HOME/plumbline/runs`, or `~/.local/state/plumbline/runs` (XDG Base Directory
/// Specification). `None` without a home directory.
fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("plumbline/runs"))
}

/// Records `run`, and removes the oldest records of finished runs above the limit. Without a home
/// directory, nothing is recorded.
///
/// # Errors
/// The state directory cannot be written.
pub fn record(run: &LocalRun) -> io::Result<()> {
    let Some(directory) = directory() else { return Ok(()) };
    fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{}.json", run.run));
    // Other users must not learn the paths in it.
    Disk::default().replace(&path, &serde_json::to_vec(run)?, 0o600)?;
    for old in list_in(&directory)?.into_iter().skip(MAX_REMEMBERED).filter(|old| !old.work.exists()) {
        fs::remove_file(directory.join(format!("{}.json", old.run)))?;
    }
    Ok(())
}

/// Lists the recorded runs, the newest first.
///
/// # Errors
/// The state directory cannot be read.
pub fn list() -> io::Result<Vec<LocalRun>> {
    directory().map_or_else(|| Ok(Vec::new()), |directory| list_in(&directory))
}

fn list_in(directory: &Path) -> io::Result<Vec<LocalRun>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs: Vec<LocalRun> = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // Other files, and files that another process removes right now, are skipped.
        if path.extension().is_some_and(|extension| extension == "json")
            && let Ok(bytes) = fs::read(&path)
            && let Ok(run) = serde_json::from_slice(&bytes)
        {
            runs.push(run);
        }
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.started));
    Ok(runs)
}
