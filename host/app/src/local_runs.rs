//! The local runs of the user, so that another terminal finds them: one small file per run in the
//! state directory. And the interrupted run to continue.

use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::Timestamp;
use plumbline_aggregator::{Published, STATUS_FILE, WorkDir, WorkDirError};
use plumbline_archive::disk::Disk;
use plumbline_bundle::user_dir;
use plumbline_core::RunId;
use plumbline_core::run_status::RunStatus;
use serde::{Deserialize, Serialize};

use crate::error::{AppError, Explain as _};
use crate::files::paths_in;

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
pub fn log_dir(work: &Path) -> PathBuf {
    work.join("tree/podlogs/local")
}

/// The file with the output of a plugin on `node`, while the run is in progress.
pub fn log_file(work: &Path, plugin: &str, node: &str) -> PathBuf {
    log_dir(work).join(plugin).join("logs").join(format!("{node}.txt"))
}

/// `$XDG_STATE_HOME/plumbline/runs`, or `~/.local/state/plumbline/runs` (XDG Base Directory
/// Specification). `None` without a home directory.
fn directory() -> Option<PathBuf> {
    Some(user_dir("XDG_STATE_HOME", ".local/state")?.join("plumbline/runs"))
}

/// Records `run`, and removes the oldest records of finished runs above the limit. Without a home
/// directory, nothing is recorded.
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
pub fn list() -> io::Result<Vec<LocalRun>> {
    directory().map_or_else(|| Ok(Vec::new()), |directory| list_in(&directory))
}

fn list_in(directory: &Path) -> io::Result<Vec<LocalRun>> {
    let paths = match paths_in(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        paths => paths?,
    };
    let is_record = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    // Other files, and files that another process removes right now, are skipped.
    let read = |path: PathBuf| serde_json::from_slice::<LocalRun>(&fs::read(path).ok()?).ok();
    let mut runs: Vec<LocalRun> = paths.into_iter().filter(is_record).filter_map(read).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.started));
    Ok(runs)
}

/// Finds the run whose ID starts with `wanted`, or the newest run with the others.
pub fn find(wanted: Option<&str>) -> Result<(LocalRun, Vec<LocalRun>), AppError> {
    let runs = list().system_error("failed to list the runs")?;
    let Some(wanted) = wanted else {
        let mut runs = runs.into_iter();
        let newest = runs.next().ok_or_else(|| {
            AppError::usage("no runs found on this machine").hint("start one with `plumbline run --local --plugin …`")
        })?;
        return Ok((newest, runs.collect()));
    };
    let found = by_id(runs, wanted)?.ok_or_else(|| {
        AppError::usage(format!("no run starts with `{wanted}`"))
            .hint("`plumbline status --local` shows the newest run and lists the others")
    })?;
    Ok((found, Vec::new()))
}

/// The run whose ID starts with `wanted`, if there is one. More than one is an error.
fn by_id(runs: Vec<LocalRun>, wanted: &str) -> Result<Option<LocalRun>, AppError> {
    let mut found = runs.into_iter().filter(|run| run.has_id(wanted));
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(_) => Err(AppError::usage(format!("more than one run starts with `{wanted}`"))
            .hint("write more characters of its ID")),
    }
}

/// The status of a local run.
pub struct LocalStatus {
    /// The last status.
    pub status: RunStatus,
    /// When it was published, if the run has not finished.
    pub at: Option<Timestamp>,
    /// Whether no process works on the run, although it has not finished.
    pub lost: bool,
}

/// Reads the last status of a run.
pub fn read_status(entry: &LocalRun) -> Result<LocalStatus, AppError> {
    if let Some(status) = &entry.status {
        return Ok(LocalStatus { status: status.clone(), at: None, lost: false });
    }
    let path = entry.work.join(STATUS_FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AppError::system(format!(
                "run {} has no status: `{}` is missing",
                entry.run.short(),
                path.display()
            ))
            .hint("its working directory was removed before the run ended"));
        }
        Err(error) => {
            return Err(AppError::system(format!("failed to read the status `{}`", path.display())).because(&error));
        }
    };
    let published: Published =
        serde_json::from_slice(&bytes).system_error(format_args!("invalid status `{}`", path.display()))?;
    Ok(LocalStatus { status: published.status, at: Some(published.at), lost: !entry.is_running() })
}

const UNUSABLE: &str = "failed to open the working directory of the run";
const LIST_HINT: &str = "`plumbline status --local` lists the runs";

/// Opens the working directory of the run that `wanted` names: a directory, an ID or its start, or
/// nothing for the newest unfinished run.
pub(super) fn open_interrupted(wanted: &str) -> Result<WorkDir, AppError> {
    let path = Path::new(wanted);
    if !wanted.is_empty() && path.join("run.json").is_file() {
        return opened(absolute(path)?);
    }
    let runs = list().system_error("failed to list the runs")?;
    if wanted.is_empty() {
        return newest(&runs);
    }
    let run = by_id(runs, wanted)?.ok_or_else(|| {
        let what = format!("no run to continue: `{wanted}` is neither the ID nor the working directory of one");
        AppError::usage(what).hint(LIST_HINT)
    })?;
    if run.is_unfinished() {
        return opened(run.work);
    }
    Err(AppError::usage(format!("failed to continue run {}", run.run.short())).hint(match &run.archive {
        Some(archive) => format!("it has finished: its archive is {}", archive.display()),
        None => format!("its working directory `{}` is missing", run.work.display()),
    }))
}

fn newest(runs: &[LocalRun]) -> Result<WorkDir, AppError> {
    let mut running = false;
    for run in runs.iter().filter(|run| run.is_unfinished()) {
        match WorkDir::open(run.work.clone()) {
            Err(WorkDirError::Locked(_)) => running = true,
            opened => return opened.system_error(UNUSABLE),
        }
    }
    let what = if running { "no run to continue: the unfinished ones are running" } else { "no run to continue" };
    Err(AppError::usage(what).hint(LIST_HINT))
}

fn opened(root: PathBuf) -> Result<WorkDir, AppError> {
    WorkDir::open(root).system_error(UNUSABLE)
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, AppError> {
    std::path::absolute(path).system_error(format_args!("failed to resolve the path `{}`", path.display()))
}
