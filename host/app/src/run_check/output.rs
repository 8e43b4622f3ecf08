//! The results of a check: its items, and the done file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plumbline_core::FlatItem;
use plumbline_sandbox::{CheckFailure, ITEMS_FILE, ItemsFile};
use plumbline_worker::{DONE_FILE, write_done};

use crate::error::AppError;

/// Returns a failure with all causes of an error, and its hint.
pub(super) fn because(error: &AppError) -> CheckFailure {
    let parts: Vec<&str> = [error.summary()].into_iter().chain(error.causes().iter().map(String::as_str)).collect();
    CheckFailure::of(parts.join(": ")).with("hint", error.hint_text().map(str::to_owned))
}

/// The results of a check.
#[derive(Debug)]
pub(super) struct Output {
    results: PathBuf,
    plugin: String,
    /// `None` if the results are complete. Nothing is written after that.
    file: Mutex<Option<ItemsFile>>,
}

impl Output {
    /// Creates the file with the items.
    ///
    /// A container of a DaemonSet that ends, for example with its node, starts again, and finds the
    /// results of its first process. They are no longer complete, or the worker would send a part of
    /// the new ones.
    pub(super) fn create(results: &Path, plugin: &str) -> io::Result<Self> {
        if let Err(error) = fs::remove_file(results.join(DONE_FILE))
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = Mutex::new(Some(ItemsFile::create(results)?));
        Ok(Self { results: results.to_owned(), plugin: plugin.to_owned(), file })
    }

    pub(super) fn item(&self, item: &FlatItem) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_mut().ok_or_else(|| io::Error::other("the check has ended"))?.write(item)
    }

    /// Writes the failure, if there is one, and the done file.
    pub(super) fn finish(&self, failure: Option<CheckFailure>, allow_empty: bool) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut file) = file.take()
            && let Some(failure) = file.finish(&self.plugin, failure, allow_empty)?
        {
            tracing::warn!("{}", failure.reason());
        }
        write_done(&self.results, &self.results.join(ITEMS_FILE))
    }
}

#[cfg(test)]
mod tests {
    use plumbline_core::Status;

    use super::*;

    fn item(name: &str) -> FlatItem {
        FlatItem { name: name.to_owned(), status: Some(Status::Passed), ..FlatItem::default() }
    }

    fn lines(dir: &Path) -> Vec<FlatItem> {
        let text = fs::read_to_string(dir.join(ITEMS_FILE)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn items_are_in_the_file_at_once_and_nothing_follows_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output::create(dir.path(), "p").unwrap();
        output.item(&item("a")).unwrap();
        assert_eq!(lines(dir.path()), [item("a")], "before the check ends");
        assert!(!dir.path().join("done").exists());
        output.finish(None, false).unwrap();
        assert!(output.item(&item("b")).is_err());
        assert_eq!(lines(dir.path()).len(), 1);
        let done = fs::read_to_string(dir.path().join("done")).unwrap();
        assert_eq!(Path::new(&done), dir.path().join(ITEMS_FILE));
    }

    #[test]
    fn a_check_that_starts_again_has_no_complete_results() {
        let dir = tempfile::tempdir().unwrap();
        let first = Output::create(dir.path(), "p").unwrap();
        first.item(&item("a")).unwrap();
        first.item(&item("b")).unwrap();
        first.finish(None, false).unwrap();
        let mut sent = fs::File::open(dir.path().join(ITEMS_FILE)).unwrap();
        let second = Output::create(dir.path(), "p").unwrap();
        assert!(!dir.path().join("done").exists(), "the worker would send what is in the file by now");
        second.item(&item("a")).unwrap();
        assert_eq!(lines(dir.path()), [item("a")]);
        // A worker that sends the results of the first process sends all of them.
        let mut text = String::new();
        io::Read::read_to_string(&mut sent, &mut text).unwrap();
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn a_failure_is_the_last_item_and_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output::create(dir.path(), "p").unwrap();
        output.item(&item("a")).unwrap();
        output.finish(Some(CheckFailure::of("it crashed").with("hint", Some("fix it".to_owned()))), false).unwrap();
        let last = lines(dir.path()).pop().unwrap();
        assert_eq!((last.name.as_str(), last.status), ("p", Some(Status::Unknown)));
        assert_eq!(last.meta.get("error").map(String::as_str), Some("it crashed"));
        assert_eq!(last.details.get("hint"), Some(&"fix it".into()));
    }

    #[test]
    fn nothing_is_not_a_pass_unless_it_may_be() {
        for (allow_empty, expected) in [(false, 1), (true, 0)] {
            let dir = tempfile::tempdir().unwrap();
            let output = Output::create(dir.path(), "p").unwrap();
            output.finish(None, allow_empty).unwrap();
            let found = lines(dir.path());
            assert_eq!(found.len(), expected);
            assert!(found.iter().all(|item| item.status == Some(Status::Unknown)));
        }
    }
}
