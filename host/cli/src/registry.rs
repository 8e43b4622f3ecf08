//! Which local runs there are, so that another terminal finds them: one small file per run in the user's state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_archive::disk::Disk;
use plumbline_core::RunId;
use plumbline_core::run_status::RunStatus;
use serde::{Deserialize, Serialize};

/// Ended runs that are remembered.
const MAX_REMEMBERED: usize = 20;

/// A local run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The run.
    pub(crate) run: RunId,
    /// When it began.
    pub(crate) started: Timestamp,
    /// Its working directory; gone when it has ended well.
    pub(crate) work: PathBuf,
    /// Its archive, once there is one.
    pub(crate) archive: Option<PathBuf>,
    /// Its last status, once it has ended.
    pub(crate) status: Option<RunStatus>,
}

impl Entry {
    /// Whether `id` is the run's id or the beginning of it.
    pub(crate) fn is_called(&self, id: &str) -> bool {
        self.run.to_string().starts_with(id) || self.run.short().starts_with(id)
    }

    /// Whether the run can be continued once nobody works on it.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.archive.is_none() && self.work.join("run.json").is_file()
    }

    /// Whether a process works on the run: it holds the lock of the working directory.
    pub(crate) fn is_running(&self) -> bool {
        let lock = fs::File::open(self.work.join("lock"));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    }
}

/// `$XDG_STATE_HOME/plumbline/runs`, or `~/.local/state/plumbline/runs` (XDG Base Directory Specification). `None` without a home.
fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("plumbline/runs"))
}

/// Remembers `entry`, and forgets the oldest beyond what is remembered.
pub(crate) fn remember(entry: &Entry) -> io::Result<()> {
    let Some(directory) = directory() else { return Ok(()) };
    fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{}.json", entry.run));
    // The paths in it are nobody else's business.
    Disk::default().replace(&path, &serde_json::to_vec(entry)?, 0o600)?;
    for old in list_in(&directory)?.into_iter().skip(MAX_REMEMBERED).filter(|old| !old.work.exists()) {
        fs::remove_file(directory.join(format!("{}.json", old.run)))?;
    }
    Ok(())
}

/// The runs, the newest first.
pub(crate) fn list() -> io::Result<Vec<Entry>> {
    directory().map_or_else(|| Ok(Vec::new()), |directory| list_in(&directory))
}

fn list_in(directory: &Path) -> io::Result<Vec<Entry>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs: Vec<Entry> = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // What is not ours, or is being removed by another process at this moment, is no run.
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
