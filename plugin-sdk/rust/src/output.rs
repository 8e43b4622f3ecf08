//! The output of a module: the items that it emits.

use std::fmt;

use crate::Item;

/// Maximum number of items in a batch.
pub const BATCH_ITEMS: usize = 256;

/// Size in bytes of a batch's strings at which it is sent. Together with the size limit of an item,
/// this bounds the memory that a module uses for output.
pub const BATCH_BYTES: usize = 1 << 20;

/// Takes the items out of a batch. Items that it leaves there are dropped.
pub(crate) type Sink = Box<dyn FnMut(&mut Vec<Item>)>;

/// Receives items in pre-order and sends them to the host in batches, so that neither side holds a
/// whole result in memory.
pub struct Output {
    batch: Vec<Item>,
    bytes: usize,
    sink: Sink,
}

impl Output {
    pub(crate) fn new(sink: Sink) -> Self {
        Self { batch: Vec::with_capacity(BATCH_ITEMS), bytes: 0, sink }
    }

    /// Appends an item to the tree. [`Item`] describes the rules for depth and name.
    ///
    /// If an item breaks a rule or exceeds a limit, the host ends the call. It keeps the earlier
    /// items and records the broken rule.
    pub fn emit(&mut self, item: Item) {
        self.bytes = self.bytes.saturating_add(item.bytes());
        self.batch.push(item);
        if self.batch.len() >= BATCH_ITEMS || self.bytes >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Sends the pending items to the host. This also happens when a batch is full and at the end
    /// of the call.
    pub fn flush(&mut self) {
        if !self.batch.is_empty() {
            (self.sink)(&mut self.batch);
            self.batch.clear();
        }
        self.bytes = 0;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.flush();
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("waiting", &self.batch.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Emits `items` and returns the sizes of the resulting batches.
    fn batches(items: impl IntoIterator<Item = Item>) -> Vec<usize> {
        let (sender, sent) = mpsc::channel();
        let mut out = Output::new(Box::new(move |batch| sender.send(batch.drain(..).count()).unwrap()));
        items.into_iter().for_each(|item| out.emit(item));
        drop(out);
        sent.iter().collect()
    }

    #[test]
    fn items_go_out_in_batches_and_the_rest_at_the_end() {
        assert_eq!(batches((0..600).map(|_| Item::new(0, "x"))), [BATCH_ITEMS, BATCH_ITEMS, 600 - 2 * BATCH_ITEMS]);
        assert_eq!(batches([]), [] as [usize; 0]);
    }

    #[test]
    fn large_items_do_not_wait_for_a_full_batch() {
        let large = || Item::new(0, "x").text("output", "o".repeat(BATCH_BYTES / 2));
        assert_eq!(batches([large(), large(), large()]), [2, 1]);
    }

    #[test]
    fn a_sink_that_leaves_the_batch_does_not_get_it_twice() {
        let (sender, sent) = mpsc::channel();
        let mut out = Output::new(Box::new(move |batch| sender.send(batch.len()).unwrap()));
        out.emit(Item::new(0, "x"));
        out.flush();
        out.flush();
        out.emit(Item::new(0, "y"));
        drop(out);
        assert_eq!(sent.iter().collect::<Vec<_>>(), [1, 1]);
    }
}
