//! Spooling of a result set's items on their way to the tree. They are rendered immediately,
//! spooled to disk, and rolled up from back to front.
//!
//! A module emits items in pre-order. The status of an item with children is known only after the
//! last of them. A spool therefore consists of two files, or three if a module reads the items
//! again:
//!
//! * The *body* has each item rendered as YAML, without its status.
//! * The *index* has a record of fixed size for each item.
//!
//! A backward pass over the index resolves every status, with a tally per level. A forward pass
//! copies the body and inserts the statuses. Memory depends on the depth of the tree and the number
//! of distinct statuses, but not on the number of items.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use plumbline_core::rollup::{MAX_CUSTOM_STATUSES, Tally, meaning};
use plumbline_core::status::STANDARD;
use plumbline_core::{FlatItem, Status};

use super::failures::Failures;
use super::outcome::NodeOutcome;
use super::yaml;

/// Size of an index record in bytes: four little-endian u32.
const RECORD: usize = 16;
/// Number of records that the backward pass holds at once.
const CHUNK: usize = 4096;
/// Maximum number of distinct custom statuses in one spool, with the results of several nodes.
const MAX_CUSTOM: usize = 10_000;
/// Maximum total size of the lists of counts that items with children can have, in bytes.
const MAX_LISTS: usize = 16 << 20;
/// Additional bytes for lists of counts in a tree, on top of the size of the items.
const LISTS_ALLOWANCE: u64 = 1 << 20;
/// Code of [`Status::Unknown`]. Standard statuses have their number. The host decides about 0.
const UNKNOWN: u32 = 5;

#[derive(Clone, Copy)]
pub(super) struct Record {
    depth: u32,
    pub(super) status: u32,
    head: u32,
    tail: u32,
}

impl Record {
    fn to_bytes(self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        for (to, from) in bytes.chunks_exact_mut(4).zip([self.depth, self.status, self.head, self.tail]) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD]) -> Self {
        let mut words = bytes.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes));
        let mut next = || words.next().unwrap_or(0);
        Self { depth: next(), status: next(), head: next(), tail: next() }
    }
}

/// Mapping of statuses to codes: fixed numbers for standard statuses, a table for custom ones.
#[derive(Default)]
pub(super) struct Codes {
    custom: Vec<Arc<str>>,
    by_text: BTreeMap<Arc<str>, u32>,
    /// Total size of the custom statuses in bytes.
    bytes: usize,
}

impl Codes {
    /// Returns the code of `status`. `None` if the status is new and `has_room` returns false.
    fn code(&mut self, status: &Status, has_room: impl FnOnce(&Self) -> bool) -> Option<u32> {
        if let Some(at) = STANDARD.iter().position(|s| s == status) {
            return Some(at as u32 + 1);
        }
        let text = status.as_str();
        if let Some(&code) = self.by_text.get(text) {
            return Some(code);
        }
        if !has_room(self) {
            return None;
        }
        let text: Arc<str> = text.into();
        self.bytes += text.len();
        self.custom.push(Arc::clone(&text));
        let code = (STANDARD.len() + self.custom.len()) as u32;
        self.by_text.insert(text, code);
        Some(code)
    }

    pub(super) fn status(&self, code: u32) -> Status {
        let Some(at) = (code as usize).checked_sub(1) else { return Status::Unknown };
        if let Some(status) = STANDARD.get(at) {
            return status.clone();
        }
        self.custom.get(at - STANDARD.len()).map_or(Status::Unknown, |text| Status::Custom(text.as_ref().to_owned()))
    }

    fn tally(&self, counts: &BTreeMap<u32, u64>) -> Tally {
        let mut tally = Tally::default();
        for (&code, &n) in counts {
            tally.add_many(&self.status(code), n);
        }
        tally
    }

    /// Returns the status of an item with these children: a list of counts while there is room.
    fn rolled_up(&mut self, children: &BTreeMap<u32, u64>, custom_mode: bool, left: &mut u64) -> u32 {
        let tally = self.tally(children);
        if custom_mode {
            let list = tally.result(true);
            let bytes = list.as_str().len();
            if let Some(rest) = left.checked_sub(bytes as u64)
                && let Some(code) = self.code(&list, |codes| codes.bytes.saturating_add(bytes) <= MAX_LISTS)
            {
                *left = rest;
                return code;
            }
        }
        self.code(&tally.result(false), |_| false).unwrap_or(UNKNOWN)
    }
}

/// Numbers of leaves, on which the host's own items and the verdict depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LeafCounts {
    all: u64,
    pub(super) failed: u64,
    skipped: u64,
    not_read: u64,
    custom: u64,
}

impl LeafCounts {
    /// Returns the counts of one leaf.
    fn of(status: Option<&Status>) -> Self {
        let meaning = status.map(meaning);
        Self {
            all: 1,
            failed: matches!(meaning, Some(Status::Failed | Status::Timeout)).into(),
            skipped: matches!(meaning, Some(Status::Skipped)).into(),
            not_read: matches!(meaning, Some(Status::NotRead)).into(),
            custom: matches!(status, Some(Status::Custom(_))).into(),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            not_read: self.not_read + other.not_read,
            custom: self.custom + other.custom,
        }
    }

    /// Returns the counts of the leaves after `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            all: self.all.saturating_sub(earlier.all),
            failed: self.failed.saturating_sub(earlier.failed),
            skipped: self.skipped.saturating_sub(earlier.skipped),
            not_read: self.not_read.saturating_sub(earlier.not_read),
            custom: self.custom.saturating_sub(earlier.custom),
        }
    }

    /// Returns whether there are leaves, and none of them was read.
    pub(super) fn is_unread(self) -> bool {
        self.all > 0 && self.all == self.not_read
    }

    /// Returns whether no leaf ran: each of them was skipped or not read.
    pub(super) fn ran_nothing(self) -> bool {
        self.all == self.skipped.saturating_add(self.not_read)
    }
}

/// Receives the items of one result set.
pub(super) struct SpoolWriter {
    index: BufWriter<File>,
    body: BufWriter<File>,
    replay: Option<BufWriter<File>>,
    codes: Codes,
    keep_names: bool,
    root_names: Vec<String>,
    /// Number of items so far.
    pub(super) items: u64,
    /// Size of the items so far as written to the tree, without their statuses.
    pub(super) bytes: u64,
    /// The last item, which is a leaf unless the next one is its child.
    last: Option<(u32, LeafCounts)>,
    /// The leaves before the last item.
    leaves: LeafCounts,
    failures: Failures,
    text: String,
}

impl SpoolWriter {
    /// Creates a spool in unnamed files below `dir`. `keep_names` keeps the names of items at depth
    /// 0. With `replay`, the items can be read again, from a third file.
    pub(super) fn create(dir: &Path, keep_names: bool, replay: bool) -> io::Result<Self> {
        let replay = replay.then(|| tempfile::tempfile_in(dir)).transpose()?;
        Ok(Self {
            replay: replay.map(|file| BufWriter::with_capacity(64 << 10, file)),
            index: BufWriter::with_capacity(64 << 10, tempfile::tempfile_in(dir)?),
            body: BufWriter::with_capacity(256 << 10, tempfile::tempfile_in(dir)?),
            codes: Codes::default(),
            keep_names,
            root_names: Vec::new(),
            items: 0,
            bytes: 0,
            last: None,
            leaves: LeafCounts::default(),
            failures: Failures::default(),
            text: String::new(),
        })
    }

    /// Appends an item, at most one level deeper than the previous one.
    pub(super) fn push(&mut self, item: &FlatItem) -> io::Result<()> {
        self.close_leaf(item.depth);
        let status = match &item.status {
            Some(status) => {
                let code = self.codes.code(status, |codes| codes.custom.len() < MAX_CUSTOM);
                code.ok_or_else(|| io::Error::other(format!("more than {MAX_CUSTOM} different statuses")))?
            }
            None => 0,
        };
        self.text.clear();
        yaml::item_head(&mut self.text, item.depth, &item.name);
        let head = self.text.len();
        yaml::item_tail(&mut self.text, item.depth, item);
        let tail = self.text.len() - head;
        let too_long = |_| {
            io::Error::other(format!("item `{}` is longer than 4 GiB", item.name.chars().take(80).collect::<String>()))
        };
        let record = Record {
            depth: item.depth,
            status,
            head: u32::try_from(head).map_err(too_long)?,
            tail: u32::try_from(tail).map_err(too_long)?,
        };
        self.body.write_all(self.text.as_bytes())?;
        self.bytes += self.text.len() as u64;
        self.index.write_all(&record.to_bytes())?;
        if let Some(replay) = &mut self.replay {
            serde_json::to_writer(&mut *replay, item)?;
            replay.write_all(b"\n")?;
        }
        if item.depth == 0 && self.keep_names {
            self.root_names.push(item.name.clone());
        }
        self.items += 1;
        self.last = Some((item.depth, LeafCounts::of(item.status.as_ref())));
        self.failures.consider(item.depth as usize, &item.name, item.status.as_ref(), &item.meta, &item.details);
        // Do not hold the memory of a huge item for the rest of the set.
        self.text.shrink_to(1 << 20);
        Ok(())
    }

    /// Returns the leaves so far, assuming that the last item is a leaf.
    pub(super) fn leaves(&self) -> LeafCounts {
        self.leaves.plus(self.last.map(|(_, leaf)| leaf).unwrap_or_default())
    }

    /// Counts the last item as a leaf, unless the next item, at `depth`, is its child.
    fn close_leaf(&mut self, depth: u32) {
        if let Some((last, leaf)) = self.last
            && depth <= last
        {
            self.leaves = self.leaves.plus(leaf);
            self.failures.accept();
        } else {
            self.failures.reject();
        }
    }

    /// Finishes the spool, so that it can be resolved.
    pub(super) fn finish(mut self) -> io::Result<Spool> {
        self.close_leaf(0);
        let index = self.index.into_inner().map_err(io::IntoInnerError::into_error)?;
        let body = self.body.into_inner().map_err(io::IntoInnerError::into_error)?;
        let replay = self.replay.map(|file| file.into_inner().map_err(io::IntoInnerError::into_error)).transpose()?;
        Ok(Spool {
            index,
            body,
            replay,
            root_names: self.root_names,
            codes: self.codes,
            items: self.items,
            bytes: self.bytes,
            custom_leaf: self.leaves.custom > 0,
            failures: self.failures,
        })
    }
}

/// All items of one result set.
pub(super) struct Spool {
    pub(super) index: File,
    body: File,
    /// The items as JSON lines in the order of the records, if that was requested.
    pub(super) replay: Option<File>,
    root_names: Vec<String>,
    pub(super) codes: Codes,
    pub(super) items: u64,
    bytes: u64,
    /// Whether a leaf has a custom status. The whole tree of the plugin is then in custom mode.
    pub(super) custom_leaf: bool,
    pub(super) failures: Failures,
}

/// Result of the backward pass.
#[derive(Default)]
pub(super) struct Resolved {
    /// Statuses of the items at depth 0, with their counts.
    pub(super) roots: Vec<(Status, u64)>,
    /// Number of leaves by status.
    pub(super) counts: BTreeMap<String, u64>,
    /// Names and outcomes of the single items at depth 0, if requested.
    pub(super) per_root: Vec<(String, NodeOutcome)>,
}

impl Spool {
    /// Resolves every status in place, in any mode. With `per_root`, it also returns the items at
    /// depth 0, of which there must be few.
    pub(super) fn resolve(&mut self, custom_mode: bool, per_root: bool) -> io::Result<Resolved> {
        let mut resolved = Resolved::default();
        let mut total: BTreeMap<u32, u64> = BTreeMap::new();
        // Leaves since the last item at depth 0.
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        // tallies[d]: the statuses so far of the children of the next item at depth d - 1.
        let mut tallies: Vec<BTreeMap<u32, u64>> = Vec::new();
        let mut buffer = vec![0_u8; CHUNK * RECORD];
        let mut end = self.items;
        // Lists of a hundred statuses on every level would be larger than the items.
        let mut left = self.bytes.saturating_add(LISTS_ALLOWANCE);
        let mut names = self.root_names.iter().rev().cloned();
        while end > 0 {
            let start = end.saturating_sub(CHUNK as u64);
            let bytes = usize::try_from((end - start) * RECORD as u64).unwrap_or(buffer.len());
            let chunk = buffer.get_mut(..bytes).ok_or_else(|| io::Error::other("index chunk out of range"))?;
            self.index.seek(SeekFrom::Start(start * RECORD as u64))?;
            self.index.read_exact(chunk)?;
            let (records, _) = chunk.as_chunks_mut::<RECORD>();
            for bytes in records.iter_mut().rev() {
                let mut record = Record::from_bytes(bytes);
                let depth = record.depth as usize;
                if tallies.len() < depth + 2 {
                    tallies.resize_with(depth + 2, BTreeMap::new);
                }
                let children = tallies.get_mut(depth + 1).map(std::mem::take).unwrap_or_default();
                if children.is_empty() {
                    if record.status == 0 {
                        record.status = UNKNOWN;
                    }
                    *counts.entry(record.status).or_default() += 1;
                } else {
                    record.status = self.codes.rolled_up(&children, custom_mode, &mut left);
                }
                if let Some(level) = tallies.get_mut(depth) {
                    *level.entry(record.status).or_default() += 1;
                }
                if depth == 0 {
                    if per_root {
                        let name = names.next().unwrap_or_default();
                        let status = self.codes.status(record.status);
                        resolved.per_root.push((name, NodeOutcome { status, counts: self.by_text(&counts) }));
                    }
                    for (code, n) in std::mem::take(&mut counts) {
                        *total.entry(code).or_default() += n;
                    }
                }
                *bytes = record.to_bytes();
            }
            self.index.seek(SeekFrom::Start(start * RECORD as u64))?;
            self.index.write_all(chunk)?;
            end = start;
        }
        let roots = tallies.first().into_iter().flatten();
        resolved.roots = roots.map(|(&code, &n)| (self.codes.status(code), n)).collect();
        resolved.counts = self.by_text(&total);
        Ok(resolved)
    }

    /// Returns counts by status, of a limited number of statuses as for an item.
    fn by_text(&self, counts: &BTreeMap<u32, u64>) -> BTreeMap<String, u64> {
        if counts.len() <= MAX_CUSTOM_STATUSES {
            return counts.iter().map(|(&code, &n)| (self.codes.status(code).to_string(), n)).collect();
        }
        self.codes.tally(counts).counts()
    }

    /// Writes the items as YAML. Call [`Spool::resolve`] first.
    pub(super) fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.index.seek(SeekFrom::Start(0))?;
        self.body.seek(SeekFrom::Start(0))?;
        let mut index = BufReader::with_capacity(64 << 10, &self.index);
        let mut body = BufReader::with_capacity(256 << 10, &self.body);
        let mut text = String::new();
        let mut next = read_record(&mut index)?;
        while let Some(record) = next {
            next = read_record(&mut index)?;
            let level = record.depth;
            copy(&mut body, out, record.head)?;
            text.clear();
            yaml::item_status(&mut text, level, self.codes.status(record.status).as_str());
            out.write_all(text.as_bytes())?;
            copy(&mut body, out, record.tail)?;
            if next.is_some_and(|n| n.depth > record.depth) {
                text.clear();
                yaml::item_items(&mut text, level);
                out.write_all(text.as_bytes())?;
            }
        }
        Ok(())
    }
}

pub(super) fn read_record(index: &mut impl Read) -> io::Result<Option<Record>> {
    let mut bytes = [0; RECORD];
    match index.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(Record::from_bytes(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// `io::copy` would copy these small pieces in the kernel, with several system calls for each.
fn copy(from: &mut impl BufRead, to: &mut impl Write, bytes: u32) -> io::Result<()> {
    let mut left = bytes as usize;
    while left > 0 {
        let buffered = from.fill_buf()?;
        let piece = buffered.get(..left.min(buffered.len())).unwrap_or(buffered);
        if piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(piece)?;
        let done = piece.len();
        from.consume(done);
        left -= done;
    }
    Ok(())
}
