//! The items of a check in a file: one line of JSON each, which is complete as soon as the item is
//! emitted. A check that is killed keeps them.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plumbline_core::{FlatItem, Status};
use plumbline_worker::write_done;
use serde_json::{Map, Value};

use crate::error::AppError;

/// The file in the results directory, which the format `items` reads.
pub(super) const ITEMS_FILE: &str = "items.jsonl";

/// The maximum length of a reason in bytes.
const MAX_REASON: usize = 16 << 10;

/// Why a check is not complete.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    reason: String,
    details: Map<String, Value>,
}

impl Failure {
    pub(super) fn of(reason: impl Into<String>) -> Self {
        let mut reason = reason.into();
        reason.truncate(reason.floor_char_boundary(MAX_REASON));
        Self { reason, details: Map::new() }
    }

    /// Creates a failure with all causes of an error, and its hint.
    pub(super) fn because(error: &AppError) -> Self {
        let parts: Vec<&str> = [error.summary()].into_iter().chain(error.causes().iter().map(String::as_str)).collect();
        Self::of(parts.join(": ")).with("hint", error.hint_text().map(str::to_owned))
    }

    pub(super) fn reason(self) -> String {
        self.reason
    }

    /// Adds information for users who look into the failure, if there is any.
    pub(super) fn with(mut self, key: &str, value: Option<String>) -> Self {
        self.details.extend(value.map(|value| (key.to_owned(), value.into())));
        self
    }
}

/// The results of a check.
#[derive(Debug)]
pub(super) struct Output {
    results: PathBuf,
    plugin: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    items: u64,
    /// Whether the results are complete. Nothing is written after that.
    finished: bool,
}

impl Output {
    pub(super) fn create(results: &Path, plugin: &str) -> io::Result<Self> {
        let file = File::create(results.join(ITEMS_FILE))?;
        let state = Mutex::new(State { file, items: 0, finished: false });
        Ok(Self { results: results.to_owned(), plugin: plugin.to_owned(), state })
    }

    pub(super) fn item(&self, item: &FlatItem) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.finished {
            return Err(io::Error::other("the check has ended"));
        }
        state.write(item)
    }

    /// Writes the failure as the last item, if there is one, and the done file. A check that emitted
    /// nothing has failed, unless it may.
    pub(super) fn finish(&self, failure: Option<&Failure>, allow_empty: bool) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = (state.items == 0 && !allow_empty).then(|| Failure::of("the check emitted no item"));
        if let Some(Failure { reason, details }) = failure.or(empty.as_ref()) {
            tracing::warn!("{reason}");
            state.write(&FlatItem {
                depth: 0,
                name: self.plugin.clone(),
                status: Some(Status::Unknown),
                meta: [("error".to_owned(), reason.clone())].into(),
                details: details.clone(),
            })?;
        }
        state.finished = true;
        write_done(&self.results, &self.results.join(ITEMS_FILE))
    }
}

impl State {
    fn write(&mut self, item: &FlatItem) -> io::Result<()> {
        let mut line = serde_json::to_vec(item)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.items += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str) -> FlatItem {
        FlatItem { name: name.to_owned(), status: Some(Status::Passed), ..FlatItem::default() }
    }

    fn lines(dir: &Path) -> Vec<FlatItem> {
        let text = std::fs::read_to_string(dir.join(ITEMS_FILE)).unwrap();
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
        let done = std::fs::read_to_string(dir.path().join("done")).unwrap();
        assert_eq!(Path::new(&done), dir.path().join(ITEMS_FILE));
    }

    #[test]
    fn a_failure_is_the_last_item_and_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output::create(dir.path(), "p").unwrap();
        output.item(&item("a")).unwrap();
        output.finish(Some(&Failure::of("it crashed").with("hint", Some("fix it".to_owned()))), false).unwrap();
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
