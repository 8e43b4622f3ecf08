//! The history of runs: what their archives say about each test over time.
//!
//! The archives are the truth. An index next to them ([`INDEX_FILE`]) makes queries fast; it can be
//! removed at any time, and is made again.
//!
//! * [`History`] reads archives and their index.
//! * [`HistoryReport`] has the statistics of tests, runs and clusters.
//! * [`known_failures`], [`flaky_tests`]: lists for judges.
//! * [`Retention`] removes old archives.

mod html;
mod index;
mod model;
mod propose;
mod remote;
mod retention;
mod scan;
mod select;
mod stats;
mod store;
mod text;

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::error::AppError;
use crate::history::index::Index;
use crate::history::remote::{load_url, url_of};
use crate::history::store::{Links, Loaded, load_archives, load_directory};
use crate::modules::Limits;
use crate::results::is_unpacked;

pub use html::history_html;
pub use model::{ClusterHistory, HistoryReport, RunOverview, Streak, TestHistory, VersionHistory};
pub(crate) use propose::flaky_list;
pub use propose::{flaky_tests, known_failures, known_failures_list};
pub(crate) use retention::ARCHIVES;
pub use retention::{KeepOptions, Removal, Retention};
pub use select::{RunIdentity, Selection};
pub(crate) use store::CACHE_DIR;
pub use store::INDEX_FILE;
pub use text::history_text;

/// Reads an index with all outcomes in it, and returns it as it is written again. Returns `None` if
/// the names of its tests are damaged. For tests with generated input.
pub fn rewritten_index(bytes: &[u8]) -> Option<Vec<u8>> {
    let index = Index::from_bytes(bytes.to_vec())?;
    index.runs.iter().for_each(|run| run.entries().for_each(drop));
    Some(index.to_bytes())
}

/// Runs with their archives.
pub struct History {
    loaded: Vec<Loaded>,
    problems: Vec<AppError>,
}

impl History {
    /// Reads the archives in directories, buckets and registries, and single archives. An archive that cannot be
    /// read is in [`History::problems`].
    pub fn open(context: &Context, sources: &[PathBuf], limits: &Limits) -> Result<Self, AppError> {
        Self::open_with(context, sources, limits, Links::Follow)
    }

    /// Reads archives as [`History::open`] does, and ignores links in directories, which may lead
    /// anywhere.
    pub(crate) fn open_without_links(
        context: &Context,
        sources: &[PathBuf],
        limits: &Limits,
    ) -> Result<Self, AppError> {
        Self::open_with(context, sources, limits, Links::Ignore)
    }

    fn open_with(context: &Context, sources: &[PathBuf], limits: &Limits, links: Links) -> Result<Self, AppError> {
        let (mut loaded, mut single) = (Vec::new(), Vec::new());
        for source in sources {
            if let Some(url) = url_of(source) {
                loaded.push(load_url(context, limits, url)?);
            } else if source.is_dir() && !is_unpacked(source) {
                loaded.push(load_directory(context, limits, source, links)?);
            } else {
                single.push(source.clone());
            }
        }
        if !single.is_empty() {
            loaded.push(load_archives(context, limits, &single));
        }
        let mut problems: Vec<AppError> = loaded.iter_mut().flat_map(|one| std::mem::take(&mut one.problems)).collect();
        // Threads finish in any order.
        problems.sort_by_cached_key(ToString::to_string);
        let history = Self { loaded, problems };
        if history.runs() == 0 {
            return Err(history.nothing(sources));
        }
        Ok(history)
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.loaded.iter().map(|one| one.index.runs.len()).sum()
    }

    /// Why archives, or plugins of archives, are not in the history.
    pub fn problems(&self) -> &[AppError] {
        &self.problems
    }

    fn nothing(&self, sources: &[PathBuf]) -> AppError {
        let names: Vec<String> = sources.iter().map(|source| format!("`{}`", source.display())).collect();
        let failed = AppError::usage(format!("no run can be read from {}", names.join(", ")));
        let failed =
            self.problems.iter().take(MAX_CAUSES).fold(failed, |failed, problem| failed.cause(problem.to_string()));
        failed.hint("pass archives of runs (`*.tar.gz`), or directories with archives")
    }
}

/// The most causes of an error about many archives.
const MAX_CAUSES: usize = 5;

/// Whether `source` has the archives of many runs, and is not a single archive.
pub(crate) fn is_history(source: &Path) -> bool {
    url_of(source).is_some() || (source.is_dir() && !is_unpacked(source))
}
