//! A stream of entries from the host, which the module reads in batches within a limit.

use std::io;

use plumbline_core::FlatItem;
use serde_json::Value;

use crate::call::clock::Clock;
use crate::call::emit::ENTRY_BYTES;
use crate::call::io::{Entry, ResultSource};
use crate::failure::Stop;
use crate::failure::Unit;

/// The maximum number of entries that one call returns, as in the WIT.
const MAX_BATCH: usize = 1024;
/// The size in bytes after which a batch ends. Together with the limit on one item, this bounds the
/// memory of host and module.
const BATCH_BYTES: u64 = 1 << 20;

/// The type behind the WIT resource `items`. Each call has one.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct ItemsHandle;

/// Returns the next entry, or `None` at the end. It is not called again after the end or an error.
pub(crate) type Next<T> = Box<dyn FnMut() -> io::Result<Option<T>> + Send>;

/// The remaining input of one call.
pub(crate) struct Reading<T> {
    content: Content<T>,
    /// The number of bytes read so far.
    read: u64,
    limit: u64,
}

enum Content<T> {
    Open(Next<T>),
    End,
    Failed(String),
}

/// A value that counts toward the reading limit.
pub(crate) trait Size {
    /// Returns the approximate size in bytes, with the strings and their memory overhead.
    fn size(&self) -> u64;
}

/// Wraps the source of a summarizer, which lives until reading ends.
pub(crate) fn results(mut source: Box<dyn ResultSource>) -> Next<Entry> {
    Box::new(move || source.next())
}

impl<T: Size> Reading<T> {
    /// `limit` is the number of bytes that may be read from all entries together.
    pub(crate) fn new(next: Option<Next<T>>, limit: u64) -> Self {
        Self { content: next.map_or(Content::End, Content::Open), read: 0, limit }
    }

    /// Returns the number of bytes read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Ends reading and drops the source, which releases what it borrows.
    pub(crate) fn close(&mut self) {
        self.content = Content::End;
    }

    /// Returns the next entries, or none at the end. The inner error is passed to the module.
    pub(crate) fn next(&mut self, max: u32, clock: &Clock) -> Result<Result<Vec<T>, String>, Stop> {
        clock.check()?;
        let next = match &mut self.content {
            Content::Open(next) => next,
            Content::End => return Ok(Ok(Vec::new())),
            Content::Failed(reason) => return Ok(Err(reason.clone())),
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
                    self.content = Content::End;
                    break;
                }
                Err(error) => {
                    let reason = format!("failed to read the results: {error}");
                    self.content = Content::Failed(reason.clone());
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Yields a number of entries of a given size, and then an optional error.
    struct Made(u32, usize, Option<&'static str>);

    impl ResultSource for Made {
        fn next(&mut self) -> io::Result<Option<Entry>> {
            if let Some(left) = self.0.checked_sub(1) {
                self.0 = left;
                let item = FlatItem { name: "n".repeat(self.1), ..FlatItem::default() };
                return Ok(Some(Entry { set: String::new(), item }));
            }
            self.2.map_or(Ok(None), |error| Err(io::Error::other(error)))
        }
    }

    fn reading(source: Made, limit: u64) -> Reading<Entry> {
        Reading::new(Some(results(Box::new(source))), limit)
    }

    fn next(reading: &mut Reading<Entry>, max: u32) -> Result<Result<usize, String>, Stop> {
        let clock = Clock::start(1000, Arc::default());
        reading.next(max, &clock).map(|batch| batch.map(|batch| batch.len()))
    }

    #[test]
    fn entries_come_in_batches_and_the_end_stays_the_end() {
        let mut few = reading(Made(5, 1, None), u64::MAX);
        let counts: Vec<usize> = [2, 0, 100, 100, 100].map(|max| next(&mut few, max).unwrap().unwrap()).into();
        assert_eq!(counts, [2, 1, 2, 0, 0], "at least one, whatever is asked for");
        let mut many = reading(Made(3000, 1, None), u64::MAX);
        assert_eq!(next(&mut many, u32::MAX), Ok(Ok(MAX_BATCH)));
        let mut large = reading(Made(9, 1 << 19, None), u64::MAX);
        assert_eq!(next(&mut large, 9), Ok(Ok(2)));
    }

    #[test]
    fn a_failure_comes_after_what_could_be_read_and_stays() {
        let mut source = reading(Made(2, 1, Some("the disk is on fire")), u64::MAX);
        assert_eq!(next(&mut source, 9), Ok(Ok(2)));
        let told = Ok(Err("failed to read the results: the disk is on fire".to_owned()));
        assert_eq!((next(&mut source, 9), next(&mut source, 9)), (told.clone(), told));
    }

    #[test]
    fn all_reads_together_are_bounded() {
        let mut source = reading(Made(u32::MAX, 68, None), 1000);
        assert_eq!(next(&mut source, 10), Ok(Ok(10)));
        assert_eq!(source.bytes_read(), 1000);
        assert_eq!(next(&mut source, 1), Err(Stop::limit("input-bytes", 1000, Unit::Bytes)));
    }

    #[test]
    fn nothing_is_read_of_what_was_closed_or_never_there() {
        let mut closed = reading(Made(2, 1, None), u64::MAX);
        closed.close();
        assert_eq!(next(&mut closed, 1), Ok(Ok(0)));
        assert_eq!(next(&mut Reading::<Entry>::new(None, 0), 1), Ok(Ok(0)));
    }
}
