//! Reads the items of spools again, for modules that summarize a plugin.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use plumbline_core::{FlatItem, GLOBAL};
use plumbline_sandbox::{Entry, ResultSource};

use super::spool::{Spool, read_record};

/// Size to which the line buffer is shrunk after a huge item.
const LINE: usize = 1 << 20;

/// Reads the items of resolved spools, one spool after another. It holds a reference to the spools.
pub(super) struct Replay {
    spools: Arc<Vec<Spool>>,
    per_node: bool,
    at: usize,
    open: Option<(BufReader<Part>, BufReader<Part>)>,
    set: String,
    line: Vec<u8>,
}

impl Replay {
    /// Creates a reader. With `per_node`, items at depth 0 are nodes, and the items after them
    /// belong to them.
    pub(super) fn new(spools: Arc<Vec<Spool>>, per_node: bool) -> Self {
        Self { spools, per_node, at: 0, open: None, set: GLOBAL.to_owned(), line: Vec::new() }
    }

    fn open(&self) -> (BufReader<Part>, BufReader<Part>) {
        let part = |file| Part { spools: Arc::clone(&self.spools), at: self.at, file, offset: 0 };
        (BufReader::new(part(Which::Index)), BufReader::with_capacity(64 << 10, part(Which::Replay)))
    }

    /// Returns the number of the current spool.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Returns the next item as it was spooled, with its resolved status.
    pub(super) fn item(&mut self) -> io::Result<Option<FlatItem>> {
        while let Some(spool) = self.spools.get(self.at) {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => self.open(),
            };
            let Some(record) = read_record(&mut open.0)? else {
                self.at += 1;
                continue;
            };
            self.line.clear();
            self.line.shrink_to(LINE);
            open.1.read_until(b'\n', &mut self.line)?;
            let mut item: FlatItem = serde_json::from_slice(&self.line)?;
            item.status = Some(spool.status(record));
            self.open = Some(open);
            return Ok(Some(item));
        }
        Ok(None)
    }
}

impl ResultSource for Replay {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        while let Some(mut item) = self.item()? {
            if self.per_node {
                let Some(depth) = item.depth.checked_sub(1) else {
                    self.set = item.name;
                    continue;
                };
                item.depth = depth;
            }
            return Ok(Some(Entry { set: self.set.clone(), item }));
        }
        Ok(None)
    }
}

enum Which {
    Index,
    Replay,
}

/// A file of a spool with its own read position.
struct Part {
    spools: Arc<Vec<Spool>>,
    at: usize,
    file: Which,
    offset: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let spool = self.spools.get(self.at);
        let file = match self.file {
            Which::Index => spool.map(Spool::index),
            Which::Replay => spool.and_then(Spool::replay),
        };
        let file = file.ok_or_else(|| io::Error::other("the items of this result set were not kept"))?;
        let read = file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
