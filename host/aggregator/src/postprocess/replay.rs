//! Reads the items of spools again: for the summarizer of a plugin, and to keep them for its judges.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use plumbline_core::{FlatItem, GLOBAL};
use plumbline_sandbox::{Entry, ResultSource};

use super::spool::{Spool, read_record};
use crate::judging::{ItemOwner, ItemWriter};

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
    /// Creates a reader. With `per_node`, items at depth 0 are nodes.
    pub(super) fn new(spools: Arc<Vec<Spool>>, per_node: bool) -> Self {
        Self { spools, per_node, at: 0, open: None, set: GLOBAL.to_owned(), line: Vec::new() }
    }

    fn open(&self) -> (BufReader<Part>, BufReader<Part>) {
        let items = self.part(|spool| spool.replay.as_ref());
        (BufReader::new(self.part(|spool| Some(&spool.index))), BufReader::with_capacity(64 << 10, items))
    }

    fn part(&self, file: fn(&Spool) -> Option<&File>) -> Part {
        Part { spools: Arc::clone(&self.spools), at: self.at, file, offset: 0 }
    }

    /// Returns the next item as it was spooled, with its resolved status.
    pub(super) fn item(&mut self) -> io::Result<Option<FlatItem>> {
        while let Some(spool) = self.spools.get(self.at) {
            let mut open = self.open.take().unwrap_or_else(|| self.open());
            let Some(record) = read_record(&mut open.0)? else {
                self.at += 1;
                continue;
            };
            self.line.clear();
            self.line.shrink_to(LINE);
            open.1.read_until(b'\n', &mut self.line)?;
            let mut item: FlatItem = serde_json::from_slice(&self.line)?;
            item.status = Some(spool.codes.status(record.status));
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

/// Writes the items of resolved `spools` to `path`. Those after the first `sets` are a summary.
pub(super) fn keep(path: &Path, spools: Vec<Spool>, sets: usize, per_node: bool) -> io::Result<()> {
    let mut replay = Replay::new(Arc::new(spools), false);
    let mut writer = ItemWriter::create(path)?;
    let owner = if per_node { ItemOwner::Node } else { ItemOwner::Cluster };
    while let Some(item) = replay.item()? {
        // `at` still refers to the spool of the item that was just returned.
        writer.push(if replay.at < sets { owner } else { ItemOwner::Summary }, item)?;
    }
    writer.finish()
}

/// A file of a spool with its own read position.
struct Part {
    spools: Arc<Vec<Spool>>,
    at: usize,
    file: fn(&Spool) -> Option<&File>,
    offset: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = self.spools.get(self.at).and_then(self.file);
        let file = file.ok_or_else(|| io::Error::other("the items of this result set were not kept"))?;
        let read = file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
