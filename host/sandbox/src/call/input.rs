//! What a module reads within the limits of its call: files, and streams of entries from the host.

use std::io::{self, ErrorKind, Read};

use plumbline_core::FlatItem;
use serde_json::Value;

use crate::call::emit::ENTRY_BYTES;
use crate::call::io::{Entry, InputFile, OpenFile};
use crate::call::limits::Clock;
use crate::failure::{Stop, Unit};

/// The maximum number of entries that one call returns, as in the WIT.
const MAX_BATCH: usize = 1024;
/// The size in bytes after which a batch ends. Together with the limit on one item, this bounds the
/// memory of host and module.
const BATCH_BYTES: u64 = 1 << 20;

/// The type behind the WIT resource `items`. Each call has one.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct ItemsHandle;

/// The maximum number of bytes that one read returns, as in the WIT.
const MAX_READ: usize = 1 << 20;

/// The type behind the WIT resource `file`. The number of a handle is the index of the file.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct FileHandle;

/// Returns the next entry, or `None` at the end. It is not called again after the end or an error.
pub(crate) type Next<T> = Box<dyn FnMut() -> io::Result<Option<T>> + Send>;

pub(crate) struct Reading<T> {
    entries: Entries<T>,
    /// The number of bytes read so far.
    pub(crate) read: u64,
    limit: u64,
}

enum Entries<T> {
    Open(Next<T>),
    End,
    Failed(String),
}

/// A value that counts toward the reading limit.
pub(crate) trait Size {
    /// Returns the approximate size in bytes, with the strings and their memory overhead.
    fn size(&self) -> u64;
}

impl<T: Size> Reading<T> {
    /// `limit` is the number of bytes that may be read from all entries together.
    pub(crate) fn new(next: Option<Next<T>>, limit: u64) -> Self {
        Self { entries: next.map_or(Entries::End, Entries::Open), read: 0, limit }
    }

    /// Ends reading and drops the source, which releases what it borrows.
    pub(crate) fn close(&mut self) {
        self.entries = Entries::End;
    }

    /// Returns the next entries, or none at the end. The inner error is passed to the module.
    pub(crate) fn next(&mut self, max: u32, clock: &Clock) -> Result<Result<Vec<T>, String>, Stop> {
        clock.check()?;
        let next = match &mut self.entries {
            Entries::Open(next) => next,
            Entries::End => return Ok(Ok(Vec::new())),
            Entries::Failed(reason) => return Ok(Err(reason.clone())),
        };
        let max = usize::try_from(max).unwrap_or(MAX_BATCH).clamp(1, MAX_BATCH);
        let (mut batch, mut bytes) = (Vec::new(), 0_u64);
        while batch.len() < max && bytes < BATCH_BYTES {
            match next() {
                Ok(Some(entry)) => {
                    bytes = bytes.saturating_add(entry.size());
                    batch.push(entry);
                }
                Ok(None) => {
                    self.entries = Entries::End;
                    break;
                }
                Err(error) => {
                    let reason = format!("failed to read the results: {error}");
                    self.entries = Entries::Failed(reason.clone());
                    // Entries from before the error are still useful. The next call returns the
                    // error.
                    if batch.is_empty() {
                        return Ok(Err(reason));
                    }
                    break;
                }
            }
            clock.check()?;
        }
        self.read = self.read.saturating_add(bytes);
        if self.read > self.limit {
            return Err(Stop::limit("input-bytes", self.limit, Unit::Bytes));
        }
        Ok(Ok(batch))
    }
}

impl Size for Entry {
    fn size(&self) -> u64 {
        (self.set.len() as u64).saturating_add(item_size(&self.item))
    }
}

/// Returns the size of an item, counted as for emitted items.
pub(crate) fn item_size(item: &FlatItem) -> u64 {
    let FlatItem { name, meta, details, .. } = item;
    let meta = meta.iter().map(|(key, value)| ENTRY_BYTES + key.len() as u64 + value.len() as u64);
    let details = details.iter().map(|(key, value)| ENTRY_BYTES + key.len() as u64 + weight(value));
    ENTRY_BYTES + name.len() as u64 + meta.sum::<u64>() + details.sum::<u64>()
}

/// Returns the approximate size of a value in bytes. Recursion is limited: emitted values passed
/// the nesting limit of [`crate::call::json`].
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(|value| 1 + weight(value)).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| 4 + key.len() as u64 + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

pub(crate) struct Files {
    pub(crate) files: Vec<Option<File>>,
    /// The number of bytes read so far.
    pub(crate) read: u64,
    limit: u64,
}

pub(crate) struct File {
    path: String,
    size: u64,
    content: Content,
}

enum Content {
    /// The option is only empty while the file is opened.
    Unopened(Option<OpenFile>),
    Open(Box<dyn Read + Send>),
    End,
    Failed(String),
}

impl Files {
    /// `limit` is the number of bytes that may be read from all files together.
    pub(crate) fn new(files: Vec<InputFile>, limit: u64) -> Self {
        let file = |InputFile { path, size, open }| Some(File { path, size, content: Content::Unopened(Some(open)) });
        Self { files: files.into_iter().map(file).collect(), read: 0, limit }
    }

    pub(crate) fn path(&self, index: u32) -> Option<&str> {
        self.get(index).map(|file| file.path.as_str())
    }

    pub(crate) fn size(&self, index: u32) -> Option<u64> {
        self.get(index).map(|file| file.size)
    }

    pub(crate) fn close(&mut self, index: u32) {
        if let Some(slot) = usize::try_from(index).ok().and_then(|index| self.files.get_mut(index)) {
            *slot = None;
        }
    }

    fn get(&self, index: u32) -> Option<&File> {
        self.files.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Reads the next bytes of a file. It returns as many as requested unless the file ends, so
    /// that a module makes few calls. The inner error is passed to the module.
    pub(crate) fn read(&mut self, index: u32, max: u32, clock: &Clock) -> Result<Result<Vec<u8>, String>, Stop> {
        clock.check()?;
        let slot = usize::try_from(index).ok().and_then(|index| self.files.get_mut(index));
        let Some(Some(file)) = slot else {
            return Ok(Err("the file is closed".into()));
        };
        let max = usize::try_from(max).unwrap_or(MAX_READ).min(MAX_READ);
        let bytes = file.read(max, clock)?;
        if let Ok(bytes) = &bytes {
            self.read = self.read.saturating_add(bytes.len() as u64);
            if self.read > self.limit {
                return Err(Stop::limit("input-bytes", self.limit, Unit::Bytes));
            }
        }
        Ok(bytes)
    }
}

impl File {
    fn read(&mut self, max: usize, clock: &Clock) -> Result<Result<Vec<u8>, String>, Stop> {
        loop {
            match &mut self.content {
                Content::Unopened(open) => {
                    self.content = match open.take().map(|open| open()) {
                        Some(Ok(reader)) => Content::Open(reader),
                        Some(Err(error)) => Content::Failed(format!("failed to open the file: {error}")),
                        None => Content::End,
                    };
                }
                Content::Open(reader) => {
                    let mut bytes = vec![0; max];
                    let Filled { length, failed } = fill(reader.as_mut(), &mut bytes, clock)?;
                    bytes.truncate(length);
                    if let Some(reason) = failed {
                        self.content = Content::Failed(reason.clone());
                        // Data from before the error is still useful. The next call returns the
                        // error.
                        if length == 0 {
                            return Ok(Err(reason));
                        }
                    } else if length < max {
                        self.content = Content::End;
                    }
                    return Ok(Ok(bytes));
                }
                Content::End => return Ok(Ok(Vec::new())),
                Content::Failed(reason) => return Ok(Err(reason.clone())),
            }
        }
    }
}

struct Filled {
    length: usize,
    failed: Option<String>,
}

fn fill(reader: &mut dyn Read, buffer: &mut [u8], clock: &Clock) -> Result<Filled, Stop> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(n) => length += n.min(rest.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Ok(Filled { length, failed: Some(format!("failed to read the file: {error}")) }),
        }
        clock.check()?;
    }
    Ok(Filled { length, failed: None })
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
