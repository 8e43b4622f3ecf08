//! Where the tree goes.

use std::fmt;

use crate::Item;

/// Items of a batch at most.
pub const BATCH_ITEMS: usize = 256;

/// Bytes of a batch's texts, after which it is sent; together with one item's limit this bounds what a module holds.
pub const BATCH_BYTES: usize = 1 << 20;

/// Takes the items out of the batch that it is given; what it leaves is dropped.
pub(crate) type Sink = Box<dyn FnMut(&mut Vec<Item>)>;

/// Takes the items in pre-order and hands them to the host in batches, so that neither side ever holds a whole result.
pub struct Output {
    batch: Vec<Item>,
    bytes: usize,
    sink: Sink,
}

impl Output {
    pub(crate) fn new(sink: Sink) -> Self {
        Self { batch: Vec::with_capacity(BATCH_ITEMS), bytes: 0, sink }
    }

    /// Appends an item to the tree. See [`Item`] for the rules on depth and name; an item that breaks them, or a limit, ends the
    /// call: the host keeps what came before and says which rule it was.
    pub fn emit(&mut self, item: Item) {
        self.bytes = self.bytes.saturating_add(item.bytes());
        self.batch.push(item);
        if self.batch.len() >= BATCH_ITEMS || self.bytes >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Hands over what has gathered. Happens by itself when a batch is full and at the end of the call.
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

    /// The sizes of the batches that come of these items.
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
