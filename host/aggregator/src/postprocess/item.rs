//! Items that the aggregator adds, about modules that failed and files that were not read.

use std::collections::BTreeMap;

use plumbline_core::{FlatItem, Status};
use plumbline_sandbox::ModuleFailure;

use super::outcome::Subject;
use super::select::SetFile;
use crate::lazy::ModuleError;

/// Returns whether `file` is the captured standard output, `results/NODE/NAME`.
pub(super) fn is_stdout(subject: &Subject<'_>, file: &SetFile) -> bool {
    let mut names = file.path.split('/').skip(2);
    subject.stdout.is_some() && names.next() == subject.stdout && names.next().is_none()
}

/// Returns the item for a file without a detected format. An empty file means a missing result,
/// unless it is the standard output of a silent process.
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

/// Returns the item for a module that could not be compiled. The results are kept, so a fixed
/// module can still read them.
pub(super) fn unusable_item(error: &ModuleError, depth: u32) -> FlatItem {
    let text = match error {
        // The message contains the module's name. Its path on this machine is of no use in an
        // archive.
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

/// Returns the item for a failed call of a module. The status of what the module did not report is
/// `unknown`. Items that it emitted before stay.
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
