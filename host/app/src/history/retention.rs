//! Removes old archives from a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use jiff::Timestamp;
use plumbline_archive::results::ResultsArchive;
use plumbline_bundle::signing::SignatureFile;
use plumbline_core::schedule::KeepLimits;
use plumbline_core::size::parse_size;

use crate::context::Context;
use crate::error::AppError;
use crate::history::History;
use crate::history::index::IndexedRun;
use crate::history::remote::url_of;
use crate::history::scan::unreadable;
use crate::modules::Limits;

/// The extension of a file that pins the archive next to it.
const PIN: &str = ".keep";

/// The seconds of a day.
const DAY: u64 = 24 * 3600;

/// The directory in which archives are collected, and which of them are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "History options")]
pub struct Retention {
    /// Directory for this archive and those of earlier runs; nothing is removed from it without one of
    /// the limits below
    #[arg(long, value_name = "DIR", conflicts_with = "dir", group = ARCHIVES, value_parser = directory())]
    pub history: Option<PathBuf>,
    /// Which archives are kept.
    #[command(flatten)]
    pub keep: KeepOptions,
}

/// Parses a directory. Other options for a history also take the URL of a bucket or a repository.
fn directory() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match url_of(&path) {
        Some(_) => Err("it is a URL, and not a directory of this machine"),
        None => Ok(path),
    })
}

/// The option that says where archives are collected, in its group.
pub(crate) const ARCHIVES: &str = "archives";

/// Options for the archives of earlier runs that are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub struct KeepOptions {
    /// Keep the newest N archives of the history, and remove the others
    #[arg(long, value_name = "N", requires = ARCHIVES)]
    pub keep_runs: Option<u64>,
    /// Remove archives of runs that started more than N days ago
    #[arg(long, value_name = "N", requires = ARCHIVES)]
    pub keep_days: Option<u64>,
    /// Keep the newest archives of the history up to this size, such as `10GiB`
    #[arg(long, value_name = "SIZE", requires = ARCHIVES, value_parser = parse_size)]
    pub keep_size: Option<u64>,
}

impl KeepOptions {
    /// The limits of these options.
    pub fn limits(self) -> KeepLimits {
        KeepLimits { runs: self.keep_runs, days: self.keep_days, bytes: self.keep_size }
    }
}

impl From<KeepLimits> for KeepOptions {
    fn from(limits: KeepLimits) -> Self {
        Self { keep_runs: limits.runs, keep_days: limits.days, keep_size: limits.bytes }
    }
}

/// An archive that was removed, or that could not be removed.
#[derive(Debug)]
pub struct Removal {
    /// The archive.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it was removed.
    pub result: Result<(), AppError>,
}

impl Retention {
    /// Removes the archives that exceed the limits, the oldest first.
    ///
    /// It never removes `written`, pinned archives (with a file `NAME.keep` next to them), or files
    /// whose content is not an archive of a run of Plumbline or Sonobuoy. Archives that cannot be
    /// read stay too.
    ///
    /// # Errors
    /// When the directory or its archives cannot be read.
    pub fn apply(&self, context: &Context, written: &Path) -> Result<Vec<Removal>, AppError> {
        let limits = self.keep.limits();
        let Some(dir) = self.history.as_ref().filter(|_| limits.any()) else { return Ok(Vec::new()) };
        let history = History::open(context, std::slice::from_ref(dir), &Limits::default())?;
        history.problems().iter().for_each(|problem| context.reporter.error(problem));
        let runs: Vec<&IndexedRun> = history.loaded.iter().flat_map(|loaded| &loaded.index.runs).collect();
        let excess = excess(limits, &runs, dir, written, Timestamp::now());
        Ok(excess.into_iter().map(|run| Removal::of(run, dir)).collect())
    }
}

/// The runs to remove, the oldest first.
fn excess<'a>(
    limits: KeepLimits,
    runs: &[&'a IndexedRun],
    dir: &Path,
    written: &Path,
    now: Timestamp,
) -> Vec<&'a IndexedRun> {
    let is_written = |run: &IndexedRun| written.file_name().is_some_and(|name| name == run.file.name.as_str());
    // What is never removed takes no place of other archives.
    let is_removable = |run: &&IndexedRun| {
        let name = &run.file.name;
        run.facts.is_from_a_run() && run.file.is_settled() && !is_pinned(dir, name) && !is_link(dir, name)
    };
    let mut runs: Vec<&IndexedRun> = runs.iter().copied().filter(is_removable).collect();
    // The newest first, and before all others the one that was just written.
    runs.sort_by_key(|run| (!is_written(run), std::cmp::Reverse((run.facts.started, run.file.name.clone()))));
    let age = limits.days.map(|days| Duration::from_secs(days.saturating_mul(DAY)));
    let oldest = age.map(|age| now.as_second().saturating_sub_unsigned(age.as_secs()));
    let (mut count, mut bytes, mut excess) = (0_u64, 0_u64, Vec::new());
    for run in runs {
        (count, bytes) = (count + 1, bytes.saturating_add(run.file.size));
        let too_many = limits.runs.is_some_and(|most| count > most);
        let too_large = limits.bytes.is_some_and(|most| bytes > most);
        let too_old = oldest.is_some_and(|oldest| run.facts.started < oldest);
        if (too_many || too_large || too_old) && !is_written(run) {
            excess.push(run);
        }
    }
    excess.reverse();
    excess
}

fn is_pinned(dir: &Path, archive: &str) -> bool {
    // If it is not known whether the file exists, the archive stays.
    dir.join(format!("{archive}{PIN}")).try_exists().unwrap_or(true)
}

fn is_link(dir: &Path, archive: &str) -> bool {
    fs::symlink_metadata(dir.join(archive)).is_ok_and(|metadata| metadata.is_symlink())
}

impl Removal {
    fn of(run: &IndexedRun, dir: &Path) -> Self {
        let path = dir.join(&run.file.name);
        let result = remove(&path, run);
        Self { path, bytes: run.file.size, result }
    }
}

/// Removes an archive, after another look at its content, and its attestations.
fn remove(path: &Path, run: &IndexedRun) -> Result<(), AppError> {
    let failed = |error: &io::Error| AppError::system(format!("failed to remove `{}`", path.display())).because(error);
    let metadata = fs::symlink_metadata(path).map_err(|error| failed(&error))?;
    let archive = ResultsArchive::open(path).map_err(|error| unreadable(&path.display().to_string(), &error))?;
    let is_same = metadata.is_file()
        && metadata.len() == run.file.size
        && archive.info().run.as_deref().is_some_and(|id| id.starts_with(run.facts.run.as_str()));
    if !is_same {
        return Err(AppError::system(format!("`{}` stays", path.display()))
            .cause("it is a link, or has changed since the history was read"));
    }
    fs::remove_file(path).map_err(|error| failed(&error))?;
    // Without its archive, an attestation is of no use.
    let attestations = SignatureFile::next_to(path);
    match fs::remove_file(attestations.path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let shown = attestations.path().display();
            Err(AppError::system(format!("failed to remove `{shown}`")).because(&error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
