//! Items of the host: errors, exit codes, and results and files that were not read.

use std::fs::File;
use std::io::{self, Read};

use plumbline_archive::layout::ERROR_FILE;
use plumbline_core::rollup::REASON;
use plumbline_core::{FlatItem, Meta, Status};
use plumbline_sandbox::ModuleFailure;
use serde_json::{Map, Value};

use super::files::SetFile;
use super::outcome::Subject;
use crate::modules::ModuleError;

/// Name of the document about the end of an execution that sent results.
pub const EXIT_FILE: &str = "exit.json";
/// Key that is `true` for exit code 0.
pub(crate) const EXIT_SUCCESS: &str = "success";
/// Key that is `true` for an exit code that says that no tests were found.
pub(crate) const EXIT_NO_TESTS: &str = "no-tests";
/// Key that is `true` if a signal or a lack of memory ended the execution.
pub(crate) const EXIT_CRASH: &str = "crash";
/// Key that is `true` if nobody knows how the execution ended.
pub(crate) const EXIT_UNKNOWN: &str = "unknown";
/// Maximum size of an error document, which contains at most a pod with its events.
const MAX_DOCUMENT: u64 = 16 << 20;

/// Returns the item for a file below `errors/`, or `None` for unknown files.
pub(super) fn error_item(file: &SetFile, depth: u32) -> io::Result<Option<FlatItem>> {
    let item = match file.name() {
        ERROR_FILE => error(read(file)?),
        EXIT_FILE => exit(&read(file)?),
        _ => return Ok(None),
    };
    let mut item = FlatItem { depth, ..item };
    item.meta.insert("file".to_owned(), file.path.clone());
    Ok(Some(item))
}

/// Reads the document, or returns `None` if it is not a JSON object.
fn read(file: &SetFile) -> io::Result<Option<Map<String, Value>>> {
    let mut bytes = Vec::new();
    File::open(&file.absolute)?.take(MAX_DOCUMENT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Returns an item named after the document's `error`, which also tells timeouts. Every key becomes
/// a detail.
fn error(document: Option<Map<String, Value>>) -> FlatItem {
    let Some(document) = document else {
        return FlatItem { name: ERROR_FILE.into(), status: Some(Status::Failed), ..FlatItem::default() };
    };
    let text = match document.get("error") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let status = if text.contains("timeout") { Status::Timeout } else { Status::Failed };
    let name = if text.is_empty() { ERROR_FILE.to_owned() } else { text };
    FlatItem { name, status: Some(status), details: document, ..FlatItem::default() }
}

fn no_tests() -> Map<String, Value> {
    [(EXIT_NO_TESTS.to_owned(), Value::Bool(true))].into_iter().collect()
}

/// Returns whether the item is an exit code that says that no tests were found.
pub(super) fn is_no_tests(item: &FlatItem) -> bool {
    item.details.contains_key(EXIT_NO_TESTS)
}

/// Returns whether results may be missing because of how the execution ended.
pub(super) fn is_crash(item: &FlatItem) -> bool {
    item.status == Some(Status::Unknown) || item.details.get(EXIT_CRASH) == Some(&Value::Bool(true))
}

fn exit(document: &Option<Map<String, Value>>) -> FlatItem {
    let get = |key| document.as_ref().and_then(|d| d.get(key));
    let is = |key| get(key) == Some(&Value::Bool(true));
    if is(EXIT_SUCCESS) {
        let meta = [(REASON.to_owned(), "no file was read, so the exit code decides".to_owned())].into();
        return FlatItem { name: "exit code 0".to_owned(), status: Some(Status::Passed), meta, ..FlatItem::default() };
    }
    let name = get("exit").and_then(Value::as_str).unwrap_or(EXIT_FILE).to_owned();
    if is(EXIT_NO_TESTS) {
        let reason = "the exit code says that no tests were found, and tests ran".to_owned();
        let (meta, details) = ([(REASON.to_owned(), reason)].into(), no_tests());
        return FlatItem { name, status: Some(Status::Failed), meta, details, ..FlatItem::default() };
    }
    let status = if is(EXIT_UNKNOWN) { Status::Unknown } else { Status::Failed };
    let details = is(EXIT_CRASH).then(|| (EXIT_CRASH.to_owned(), Value::Bool(true))).into_iter().collect();
    FlatItem { name, status: Some(status), details, ..FlatItem::default() }
}

/// Returns whether `file` is the captured standard output, `results/NODE/NAME`.
pub(super) fn is_stdout(subject: &Subject<'_>, file: &SetFile) -> bool {
    let mut names = file.path.split('/').skip(2);
    subject.stdout.is_some() && names.next() == subject.stdout && names.next().is_none()
}

/// Returns the item for a file without a detected format. A file other than the standard output
/// must not be empty.
pub(super) fn unread_item(file: &SetFile, is_stdout: bool, depth: u32) -> FlatItem {
    let name = file.name().to_owned();
    let mut meta = Meta::from([("file".to_owned(), file.path.clone())]);
    let status = if file.size == 0 && !is_stdout {
        meta.insert("error".to_owned(), "the file is empty".to_owned());
        Status::Unknown
    } else {
        Status::NotRead
    };
    FlatItem { depth, name, status: Some(status), meta, ..FlatItem::default() }
}

/// Returns an item with status `unknown`, whose name is the reason.
pub(super) fn unknown_item(reason: String, hint: Option<&str>, depth: u32) -> FlatItem {
    FlatItem {
        depth,
        meta: [("error".to_owned(), reason.clone())].into(),
        name: reason,
        status: Some(Status::Unknown),
        details: hint.into_iter().map(|hint| ("hint".to_owned(), hint.into())).collect(),
    }
}

/// Returns the item for a module that could not be compiled. A fixed one can still read the
/// results.
pub(super) fn unusable_item(error: &ModuleError, depth: u32) -> FlatItem {
    let text = match error {
        // The path on this machine is of no use in an archive.
        ModuleError::Load { source, .. } => source.to_string(),
        error => error.to_string(),
    };
    let hint = "the results are kept: with a module that works, `plumbline results --reprocess` reads them";
    unknown_item(text, Some(hint), depth)
}

/// Returns the item for a failed call of a module, in addition to those it emitted before.
pub(super) fn failure_item(failure: &ModuleFailure, depth: u32) -> FlatItem {
    unknown_item(failure.to_string(), failure.hint(), depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, text: &str) -> Option<FlatItem> {
        let dir = tempfile::tempdir().unwrap();
        let absolute = dir.path().join(name);
        std::fs::write(&absolute, text).unwrap();
        error_item(&SetFile { path: format!("errors/global/{name}"), absolute, size: 0 }, 1).unwrap()
    }

    #[test]
    fn an_error_is_named_after_its_cause() {
        let item = item("error.json", r#"{"error":"pod gone","pod":{"kind":"Pod"}}"#).unwrap();
        assert_eq!((item.name.as_str(), item.status, item.depth), ("pod gone", Some(Status::Failed), 1));
        assert_eq!(item.details["pod"]["kind"], "Pod");
        assert_eq!(item.meta["file"], "errors/global/error.json");
    }

    #[test]
    fn a_timeout_is_recognized_by_its_text() {
        assert_eq!(
            item("error.json", r#"{"error":"timeout waiting for results"}"#).unwrap().status,
            Some(Status::Timeout)
        );
    }

    #[test]
    fn only_exit_code_0_passes() {
        let status = |text| item("exit.json", text).unwrap().status;
        assert_eq!(status(r#"{"exit":"process exited with code 0","success":true}"#), Some(Status::Passed));
        for text in [r#"{"exit":"process exited with code 3"}"#, r#"{"success":"true"}"#, r#"{"success":false}"#, ""] {
            assert_eq!(status(text), Some(Status::Failed), "{text}");
        }
    }

    #[test]
    fn an_end_after_which_results_may_be_missing_is_known() {
        for (text, status, crash) in [
            (r#"{"exit":"process exited with code 3"}"#, Status::Failed, false),
            (r#"{"exit":"process was killed by signal 11","crash":true}"#, Status::Failed, true),
            (r#"{"exit":"nobody knows","unknown":true}"#, Status::Unknown, true),
        ] {
            let item = item("exit.json", text).unwrap();
            assert_eq!((item.status.as_ref(), is_crash(&item)), (Some(&status), crash), "{text}");
        }
    }

    #[test]
    fn rubbish_fails_under_the_file_s_name() {
        let item = item("error.json", "not json").unwrap();
        assert_eq!((item.name.as_str(), item.status), ("error.json", Some(Status::Failed)));
    }

    #[test]
    fn other_files_mean_nothing() {
        assert!(item("pod.log", "x").is_none());
    }
}
