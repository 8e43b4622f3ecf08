//! The tree of a plugin, as a summarizer reads it.

use std::collections::VecDeque;
use std::fmt;

use crate::Item;

/// Entries asked of the host at once: what it gives at most.
pub const READ_ENTRIES: u32 = 1024;

/// An item of the plugin's tree, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The result set: the node's name, or `global` for the one of a plugin that is not per node.
    pub set: String,
    /// As it was emitted; `depth` 0 is a root of the result set. The host gives every item a status: rolled up where there are
    /// children, `unknown` where nobody gave one.
    pub item: Item,
}

/// Where entries come from: the host, or a test.
pub(crate) trait EntrySource {
    /// The next entries, at most `max`; none at the end. The error is a sentence that names the cause.
    fn next(&mut self, max: u32) -> Result<Vec<Entry>, String>;
}

/// The items of all result sets of a plugin: set by set in the lexical order of their names, each with its items in pre-order. What the
/// host says of results that are missing comes after all of them, so a set may come a second time; one without any item does not come.
///
/// An iterator that asks the host for a batch at a time, so the tree may be larger than memory. After an error there is nothing more.
pub struct Results {
    source: Option<Box<dyn EntrySource>>,
    batch: VecDeque<Entry>,
}

impl Results {
    pub(crate) fn new(source: Box<dyn EntrySource>) -> Self {
        Self { source: Some(source), batch: VecDeque::new() }
    }
}

impl Iterator for Results {
    type Item = Result<Entry, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.is_empty() {
            match self.source.as_mut()?.next(READ_ENTRIES) {
                Ok(batch) if batch.is_empty() => self.source = None,
                Ok(batch) => self.batch = batch.into(),
                Err(error) => {
                    self.source = None;
                    return Some(Err(error));
                }
            }
        }
        self.batch.pop_front().map(Ok)
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results").field("waiting", &self.batch.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these batches, one a call.
    struct Batches(Vec<Result<usize, &'static str>>);

    impl EntrySource for Batches {
        fn next(&mut self, max: u32) -> Result<Vec<Entry>, String> {
            assert_eq!(max, READ_ENTRIES);
            let entry = Entry { set: "n".to_owned(), item: Item::new(0, "x") };
            self.0.remove(0).map(|count| vec![entry; count]).map_err(str::to_owned)
        }
    }

    #[test]
    fn the_end_is_an_empty_batch_and_nobody_is_asked_after_it() {
        let mut results = Results::new(Box::new(Batches(vec![Ok(2), Ok(1), Ok(0)])));
        assert_eq!(results.by_ref().filter(Result::is_ok).count(), 3);
        assert_eq!((results.next(), results.next()), (None, None));
    }

    #[test]
    fn an_error_is_told_once_and_ends_it() {
        let mut results = Results::new(Box::new(Batches(vec![Ok(1), Err("the disk is gone")])));
        assert!(results.next().unwrap().is_ok());
        assert_eq!(results.next(), Some(Err("the disk is gone".to_owned())));
        assert_eq!(results.next(), None);
    }
}
