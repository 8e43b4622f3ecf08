//! Items that the aggregator adds: about a module that failed, or a file that cannot be read.

use std::collections::BTreeMap;

use plumbline_core::{FlatItem, Status};
use plumbline_sandbox::ModuleFailure;

use super::outcome::Subject;
use super::select::SetFile;
use crate::lazy::ModuleError;

/// Whether `file` is `results/NODE/NAME` for the name of the captured standard output.
pub(super) fn is_stdout(subject: &Subject<'_>, file: &SetFile) -> bool {
    let mut names = file.path.split('/').skip(2);
    subject.stdout.is_some() && names.next() == subject.stdout && names.next().is_none()
}

/// A file whose format was not detected. An empty one is a result that is missing, unless it is the standard output of a silent process.
pub(super) fn unread_item(file: &SetFile, is_stdout: bool, depth: u32) -> FlatItem {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path).to_owned();
    let mut meta = BTreeMap::from([("file".to_owned(), file.path.clone())]);
    let status = if file.size == 0 && !is_stdout {
        meta.insert("error".to_owned(), "the file is empty".to_owned());
        Status::Unknown
    } else {
        Status::NotRead
    };
    FlatItem { depth, name, status: Some(status), meta, ..FlatItem::default() }
}

/// A module that could not be compiled after all. The results are there, so another build of it can still read them.
pub(super) fn unusable_item(error: &ModuleError, depth: u32) -> FlatItem {
    let text = match error {
        // The sentence names the module; where it lay on this machine is of no use in an archive.
        ModuleError::Load { source, .. } => source.to_string(),
        error => error.to_string(),
    };
    let hint = "the results are kept: with a module that works, `plumbline results --reprocess` reads them";
    FlatItem {
        depth,
        name: text.clone(),
        status: Some(Status::Unknown),
        meta: [("error".to_owned(), text)].into(),
        details: [("hint".to_owned(), hint.into())].into_iter().collect(),
    }
}

/// What the module could not tell, nobody knows: the status is `unknown`, and what it emitted before stays.
pub(super) fn failure_item(failure: &ModuleFailure, depth: u32) -> FlatItem {
    let text = failure.to_string();
    let mut details = serde_json::Map::new();
    if let Some(hint) = failure.hint() {
        details.insert("hint".into(), hint.into());
    }
    FlatItem {
        depth,
        name: text.clone(),
        status: Some(Status::Unknown),
        meta: [("error".to_owned(), text)].into(),
        details,
    }
}
