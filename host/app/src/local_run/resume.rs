//! Finds the interrupted run to continue.

use std::path::{Path, PathBuf};

use plumbline_aggregator::{WorkDir, WorkDirError};

use crate::error::AppError;
use crate::local_runs::{self, LocalRun};

const LIST_HINT: &str = "`plumbline status --local` lists the runs";

/// Opens the working directory of the run that `wanted` names: a directory, an ID or its start, or
/// nothing for the newest unfinished run.
pub(super) fn open(wanted: &str) -> Result<WorkDir, AppError> {
    let path = Path::new(wanted);
    if !wanted.is_empty() && path.join("run.json").is_file() {
        return opened(absolute(path)?);
    }
    let runs = local_runs::list().map_err(|error| AppError::system("failed to list the runs").because(&error))?;
    if wanted.is_empty() {
        return newest(&runs);
    }
    let mut found = runs.iter().filter(|run| run.has_id(wanted));
    match (found.next(), found.next()) {
        (Some(run), None) if run.is_unfinished() => opened(run.work.clone()),
        (Some(run), None) => {
            let error = AppError::usage(format!("run {} cannot be continued", run.run.short()));
            Err(match &run.archive {
                Some(archive) => error.hint(format!("it has finished: its archive is {}", archive.display())),
                None => error.hint(format!("its working directory `{}` is gone", run.work.display())),
            })
        }
        (Some(_), Some(_)) => {
            Err(AppError::usage(format!("more than one run starts with `{wanted}`")).hint("give more of its id"))
        }
        (None, _) => Err(AppError::usage(format!(
            "no run to continue: `{wanted}` is neither the id nor the working directory of one"
        ))
        .hint(LIST_HINT)),
    }
}

/// The newest unfinished run on which no process works.
fn newest(runs: &[LocalRun]) -> Result<WorkDir, AppError> {
    let mut running = false;
    for run in runs.iter().filter(|run| run.is_unfinished()) {
        match WorkDir::open(run.work.clone()) {
            Err(WorkDirError::Locked(_)) => running = true,
            opened => return opened.map_err(|error| unusable(&error)),
        }
    }
    let what = if running { "no run to continue: the unfinished ones are running" } else { "no run to continue" };
    Err(AppError::usage(what).hint(LIST_HINT))
}

fn opened(root: PathBuf) -> Result<WorkDir, AppError> {
    WorkDir::open(root).map_err(|error| unusable(&error))
}

fn unusable(error: &WorkDirError) -> AppError {
    AppError::system("failed to open the working directory of the run").because(error)
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, AppError> {
    std::path::absolute(path)
        .map_err(|error| AppError::system(format!("failed to resolve the path `{}`", path.display())).because(&error))
}
