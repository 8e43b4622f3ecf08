//! The items of a check in a file: one line of JSON each, which is complete as soon as the item is
//! emitted. A check that is killed keeps them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use plumbline_core::{FlatItem, Status};
use serde_json::{Map, Value};

/// The name of the file in the results of a check. The format `items` reads it.
pub const ITEMS_FILE: &str = "items.jsonl";

/// The maximum length of a reason in bytes.
const MAX_REASON: usize = 16 << 10;

/// Why a check is not complete.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckFailure {
    reason: String,
    details: Map<String, Value>,
}

impl CheckFailure {
    /// Creates a failure with a reason, which is shortened to 16 KiB.
    pub fn of(reason: impl Into<String>) -> Self {
        let mut reason = reason.into();
        reason.truncate(reason.floor_char_boundary(MAX_REASON));
        Self { reason, details: Map::new() }
    }

    /// Returns the reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Adds information for users who look into the failure, if there is any.
    #[must_use]
    pub fn with(mut self, key: &str, value: Option<String>) -> Self {
        self.details.extend(value.map(|value| (key.to_owned(), value.into())));
        self
    }
}

/// The file with the items of a check.
#[derive(Debug)]
pub struct ItemsFile {
    file: File,
    items: u64,
}

impl ItemsFile {
    /// Creates the file in the results of a check, as a new file. A worker that still reads the file of an
    /// earlier process reads all of that one.
    pub fn create(results: &Path) -> io::Result<Self> {
        let path = results.join(ITEMS_FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(Self { file: File::create_new(path)?, items: 0 }),
        }
    }

    /// Writes an item.
    pub fn write(&mut self, item: &FlatItem) -> io::Result<()> {
        let mut line = serde_json::to_vec(item)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.items += 1;
        Ok(())
    }

    /// Writes the failure as the last item, if there is one, and returns it. A check of `plugin` that
    /// emitted nothing has failed, unless it may. All items are then on disk.
    pub fn finish(
        &mut self,
        plugin: &str,
        failure: Option<CheckFailure>,
        allow_empty: bool,
    ) -> io::Result<Option<CheckFailure>> {
        let empty = || (self.items == 0 && !allow_empty).then(|| CheckFailure::of("the check emitted no item"));
        let failure = failure.or_else(empty);
        if let Some(failure) = &failure {
            self.write(&FlatItem {
                depth: 0,
                name: plugin.to_owned(),
                status: Some(Status::Unknown),
                meta: [("error".to_owned(), failure.reason.clone())].into(),
                details: failure.details.clone(),
            })?;
        }
        // Otherwise the done file could outlive the last items in a crash of the node.
        self.file.sync_all()?;
        Ok(failure)
    }
}
