//! Post-processing of a plugin whose results are complete.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_archive::disk::Disk;
use plumbline_archive::layout;
use plumbline_archive::pack::{PackError, PackOptions, pack_directory};
use plumbline_core::definition::RAW_FORMAT;
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::{ReceiveLimits, ResultKey, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::blocking::{with_space, write_document};
use super::finish::items_file;
use super::settings::RunError;
use crate::dispatcher::{Completed, Dispatcher, Exit, ExitKind, Unsent};
use crate::journal::lacks_space;
use crate::plan::PlannedPlugin;
use crate::postprocess::{
    EXIT_CRASH, EXIT_FILE, EXIT_NO_TESTS, EXIT_SUCCESS, EXIT_UNKNOWN, Outcome, TREE_FILE, post_process,
};
use crate::reserve::Reserve;
use crate::server::{Store, StoreError};

/// Key of an error document with the files that the plugin wrote but did not send.
const PARTIAL_RESULTS: &str = "partial-results";

/// What happens to partial results if the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoSpace {
    /// The step fails, so that it can be tried again.
    Fail,
    /// They are dropped, and the error of the result has the reason.
    Drop,
}

/// A plugin whose results are complete, and where they are.
pub(super) struct CompletedPlugin {
    pub(super) run: RunId,
    pub(super) planned: PlannedPlugin,
    pub(super) dispatcher: Arc<dyn Dispatcher>,
    pub(super) disk: Disk,
    pub(super) store: Store,
    pub(super) reserve: Reserve,
    /// Content of the archive.
    pub(super) tree: PathBuf,
    pub(super) scratch: PathBuf,
    /// The directory with the ends of executions.
    pub(super) ends: PathBuf,
    pub(super) limits: ReceiveLimits,
    pub(super) received: BTreeSet<ResultKey>,
    pub(super) failed: Vec<(ResultKey, ErrorRecord)>,
}

impl CompletedPlugin {
    /// Stops what is still running, and post-processes the results.
    pub(super) async fn process(self, cancel: &CancellationToken) -> Result<Outcome, RunError> {
        let exits = self.exits(cancel).await?;
        let plugin = Arc::new(self);
        let (name, reserve) = (plugin.planned.name(), &plugin.reserve);
        let keep = |no_space| {
            let plugin = Arc::clone(&plugin);
            move || plugin.failed.iter().try_for_each(|(key, error)| plugin.keep_unsent(key, error, no_space))
        };
        let what = format!("keep the partial results of plugin `{name}`");
        match with_space(&what, reserve, cancel, keep(NoSpace::Fail)).await {
            // Waiting did not help. The run is worth more than these files.
            Err(error) if lacks_space(&error) => with_space(&what, reserve, cancel, keep(NoSpace::Drop)).await?,
            kept => kept?,
        }
        let post_processed = Arc::clone(&plugin);
        let work = move || post_processed.post_process(&exits);
        with_space(&format!("post-process plugin `{name}`"), reserve, cancel, work).await
    }

    /// Stops what is running, and returns how the executions ended, which is recorded for a
    /// restart.
    async fn exits(&self, cancel: &CancellationToken) -> Result<Vec<Exit>, RunError> {
        let name = self.planned.name();
        let path = self.ends.join(format!("{name}.json"));
        let recorded: Option<Vec<Exit>> = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(exits) = recorded {
            return Ok(exits);
        }
        let completed = Completed {
            run: self.run,
            definition: Arc::clone(&self.planned.source.definition),
            received: self.received.clone(),
            failed: self.failed.iter().map(|(key, _)| key.clone()).collect(),
        };
        let exits = self.dispatcher.settle(&completed).await;
        let what = format!("record how the executions of plugin `{name}` ended");
        let (disk, document, step) = (self.disk.clone(), json!(exits), what.clone());
        let write = move || write_document(&disk, &path, &document, &step);
        with_space(&what, &self.reserve, cancel, write).await?;
        Ok(exits)
    }

    fn post_process(&self, exits: &[Exit]) -> Result<Outcome, RunError> {
        self.write_exits(exits)?;
        let dir = self.tree.join(layout::plugin_dir(self.planned.name()));
        self.disk.create_directories(&dir).map_err(RunError::io(format!("create `{}`", dir.display())))?;
        let mut subject = self.planned.subject();
        if !self.planned.judges.is_empty() {
            subject.keep_items = Some(items_file(&self.scratch, self.planned.name()));
        }
        let tree = dir.join(TREE_FILE);
        Ok(post_process(&subject, &dir, &self.planned.post_processor, &self.scratch, &tree)?)
    }

    fn write_exits(&self, exits: &[Exit]) -> Result<(), RunError> {
        // Exit code 0 matters only if the results are not read.
        let unread = self.planned.post_processor.name() == RAW_FORMAT;
        for exit in exits.iter().filter(|exit| unread || exit.kind != ExitKind::Success) {
            let path = self.tree.join(layout::errors_dir(&exit.key.plugin, &exit.key.node)).join(EXIT_FILE);
            let document = match exit.kind {
                ExitKind::Success => json!({"exit": exit.text, EXIT_SUCCESS: true}),
                ExitKind::Failure => json!({"exit": exit.text}),
                ExitKind::NoTests => json!({"exit": exit.text, EXIT_NO_TESTS: true}),
                ExitKind::Crash => json!({"exit": exit.text, EXIT_CRASH: true}),
                ExitKind::Unknown => json!({"exit": exit.text, EXIT_UNKNOWN: true}),
            };
            write_document(&self.disk, &path, &document, &format!("write the outcome of `{}`", exit.key))?;
        }
        Ok(())
    }

    /// Keeps the files of a result that did not arrive, and adds their number to its error. Like an
    /// upload, they never get the reserved space.
    fn keep_unsent(&self, key: &ResultKey, error: &ErrorRecord, no_space: NoSpace) -> Result<(), RunError> {
        let target = self.tree.join(layout::result_dir(&key.plugin, &key.node));
        let path = self.tree.join(layout::error_file(&key.plugin, &key.node));
        let Some(unsent) = self.dispatcher.unsent(key) else {
            if has_partial_results(&path) {
                return Ok(());
            }
            // An upload failed in its last step, and the disk also failed to remove its files.
            let what = format!("remove the files of failed result `{key}`");
            return self.disk.remove_directory(&target).map_err(RunError::io(what));
        };
        let partial = match keep(&unsent, key, &self.store, &self.limits) {
            Ok(0) => return Ok(()),
            Ok(files) => json!({ "files": files }),
            // The files are still where the plugin wrote them, so another attempt can keep them.
            Err(error) if no_space == NoSpace::Fail && lacks_space(&error) => {
                let source = io::Error::new(io::ErrorKind::StorageFull, error);
                return Err(RunError::io(format!("keep the partial results of `{key}`"))(source));
            }
            Err(error) => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "partial results are lost: {error}");
                json!({ "error": error.to_string() })
            }
        };
        let document = error.clone().with(PARTIAL_RESULTS, partial).to_error_json();
        write_document(&self.disk, &path, &document, &format!("write the error of result `{key}`"))
    }
}

/// Returns whether the error document says that the result's directory has partial results.
fn has_partial_results(error: &Path) -> bool {
    let document = fs::read(error).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    document.is_some_and(|document| document.get(PARTIAL_RESULTS).is_some())
}

/// Error while keeping the files.
#[derive(Debug, thiserror::Error)]
enum UnsentError {
    /// The files are not readable, or exceed the limit of an upload.
    #[error("failed to collect the files: {0}")]
    Pack(#[from] PackError),
    /// The files exceed a limit of the run, or this machine failed.
    #[error("failed to store the files: {0}")]
    Store(#[from] StoreError),
}

/// Copies the files of `unsent` to the location of the result `key`, by the rules of an upload, and
/// returns their number.
fn keep(unsent: &Unsent, key: &ResultKey, store: &Store, limits: &ReceiveLimits) -> Result<u64, UnsentError> {
    let options = PackOptions {
        max_bytes: Some(limits.body_bytes),
        exclude: unsent.exclude.clone(),
        ..PackOptions::for_upload(limits)
    };
    store.keep_packed(key, |body| {
        pack_directory(&unsent.directory, body, &options, &mut || false)?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use plumbline_core::NodeName;

    use super::*;

    #[test]
    fn files_are_kept_without_links_and_what_is_excluded() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("sub/a.xml"), "a").unwrap();
        fs::write(from.join("done"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        let unsent = Unsent { exclude: vec![from.join("done")], directory: from };
        let tree = dir.path().join("tree");
        let key = ResultKey::new("p".parse().unwrap(), NodeName::global());
        let target = tree.join(layout::result_dir(&key.plugin, &key.node));
        let kept = |limits: &ReceiveLimits| {
            let store = Store::create(&Disk::default(), dir.path().join("incoming"), tree.clone(), limits).unwrap();
            keep(&unsent, &key, &store, limits)
        };
        assert_eq!(kept(&ReceiveLimits::default()).unwrap(), 1);
        assert_eq!(kept(&ReceiveLimits::default()).unwrap(), 1, "again, after a restart");
        assert_eq!(fs::read_to_string(target.join("sub/a.xml")).unwrap(), "a");
        assert!(!target.join("done").exists() && !target.join("link").exists());
        let few = ReceiveLimits { entries: 1, ..ReceiveLimits::default() };
        assert!(matches!(kept(&few).unwrap_err(), UnsentError::Pack(_)));

        let full = ReceiveLimits { run_entries: 2, ..ReceiveLimits::default() };
        let error = kept(&full).unwrap_err();
        assert!(error.to_string().contains("limit `run-entries`"), "{error}");
        assert_eq!(fs::read_to_string(target.join("sub/a.xml")).unwrap(), "a", "what was kept before stays");
    }
}
