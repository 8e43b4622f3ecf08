//! Iterators over what the host lets a module read, fetched one batch at a time.

use std::collections::VecDeque;
use std::fmt;

/// Number of entries to request from the host in one call, which is also the host's maximum.
pub const READ_ENTRIES: u32 = 1024;

/// A source of entries: the host, or a test.
pub(crate) trait BatchSource<T> {
    /// Returns the next entries, at most `max`. An empty list means the end; the error is a
    /// sentence with the cause.
    fn next(&mut self, max: u32) -> Result<Vec<T>, String>;
}

/// An iterator over the entries of a plugin's tree: [`Results`](crate::Results) or
/// [`Tree`](crate::Tree).
///
/// It requests one batch at a time from the host, so the tree may be larger than memory. The
/// iterator ends after the first error.
pub struct Batches<T> {
    source: Option<Box<dyn BatchSource<T>>>,
    batch: VecDeque<T>,
}

impl<T> Batches<T> {
    pub(crate) fn new(source: Box<dyn BatchSource<T>>) -> Self {
        Self { source: Some(source), batch: VecDeque::new() }
    }
}

impl<T> Iterator for Batches<T> {
    type Item = Result<T, String>;

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

impl<T> fmt::Debug for Batches<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("waiting", &self.batch.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one of these batches per call.
    struct Given(Vec<Result<usize, &'static str>>);

    impl BatchSource<&'static str> for Given {
        fn next(&mut self, max: u32) -> Result<Vec<&'static str>, String> {
            assert_eq!(max, READ_ENTRIES);
            self.0.remove(0).map(|count| vec!["x"; count]).map_err(str::to_owned)
        }
    }

    #[test]
    fn an_empty_batch_is_the_end_and_the_source_is_not_read_again() {
        let mut entries = Batches::new(Box::new(Given(vec![Ok(2), Ok(1), Ok(0)])));
        assert_eq!(entries.by_ref().filter(Result::is_ok).count(), 3);
        assert_eq!((entries.next(), entries.next()), (None, None));
    }

    #[test]
    fn an_error_is_returned_once_and_ends_the_iterator() {
        let mut entries = Batches::new(Box::new(Given(vec![Ok(1), Err("the disk is gone")])));
        assert!(entries.next().unwrap().is_ok());
        assert_eq!(entries.next(), Some(Err("the disk is gone".to_owned())));
        assert_eq!(entries.next(), None);
    }
}
