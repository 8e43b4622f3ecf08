//! One file, entry by entry, oldest first.

use std::fs::File;
use std::io;

use super::blocks::Blocks;
use super::data::{Field, field};
use super::format::{Damage, Header, Kind, id_at, object, u32_at, u64_at};
use super::json::MAX_FIELDS;

/// Where the items of an array of entries begin.
const ARRAY_ITEMS: u64 = 24;
/// Where the items of an entry begin.
const ENTRY_ITEMS: u64 = 64;

/// Broken entries of one file that are passed over. More of them, and nothing after is to be trusted.
const MAX_BROKEN: u64 = 1000;

/// How many times its size may be made of a file, beside some MiB: values are stored once and compressed, so it is more than one, and a
/// file that was made to be large when it is read is not endless.
const MAX_GROWTH: u64 = 100;
const MIN_GROWTH: u64 = 64 << 20;

/// The head of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it is.
    pub(super) at: u64,
    /// Its bytes.
    pub(super) size: u64,
    /// Its number in the sequence.
    pub(super) number: u64,
    /// When it was received: microseconds since 1970.
    pub(super) realtime: u64,
    /// The same since boot.
    pub(super) monotonic: u64,
    /// The boot.
    pub(super) boot: [u8; 16],
    /// What tells it from others of the same time.
    pub(super) hash: u64,
}

/// What was passed over.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Entries.
    pub(super) entries: u64,
    /// Fields.
    pub(super) fields: u64,
    /// Fields that were cut.
    pub(super) cut: u64,
    /// What was wrong first.
    pub(super) first: Option<String>,
    /// Why the file was left before its end.
    pub(super) end: Option<String>,
}

impl Losses {
    fn remember(&mut self, what: impl ToString) {
        self.first.get_or_insert_with(|| what.to_string());
    }
}

/// A place in a file.
#[derive(Debug)]
pub(super) struct Cursor {
    file: Blocks,
    pub(super) header: Header,
    /// The array under way: where the next item is, and where it ends.
    item: u64,
    end: u64,
    /// The next array; zero for none.
    array: u64,
    /// Where the last array ended: the next one is behind it.
    behind: u64,
    /// Entries that are left, as the header counts them.
    left: u64,
    /// Where the last entry ended.
    entry_behind: u64,
    /// Bytes that may still be made of the file.
    room: u64,
    pub(super) losses: Losses,
}

impl Cursor {
    /// The beginning of a file.
    pub(super) fn open(file: File) -> Result<Self, Damage> {
        let mut file = Blocks::new(file).map_err(|error: io::Error| Damage::io(0, error))?;
        let header = Header::read(&mut file)?;
        let room = file.length().saturating_mul(MAX_GROWTH).saturating_add(MIN_GROWTH);
        let (array, left) = (header.entry_array, header.entries);
        let losses = Losses::default();
        Ok(Self { file, header, item: 0, end: 0, array, behind: 0, left, entry_behind: 0, room, losses })
    }

    /// The next entry that was received at `since` or later.
    pub(super) fn next(&mut self, since: u64) -> Option<Entry> {
        loop {
            let at = match self.next_item(since) {
                Ok(at) => at?,
                Err(damage) => {
                    self.stop(damage);
                    return None;
                }
            };
            match self.entry(at) {
                Ok(entry) => {
                    // As many bytes again as it has: also entries that are passed over take their time.
                    self.entry_behind = at + entry.size;
                    if entry.realtime >= since {
                        return Some(entry);
                    }
                }
                Err(damage) => {
                    self.losses.entries += 1;
                    self.losses.remember(&damage);
                    if self.losses.entries > MAX_BROKEN {
                        self.stop(damage);
                        return None;
                    }
                }
            }
        }
    }

    /// The fields of `entry`.
    pub(super) fn fields(&mut self, entry: &Entry) -> Vec<Vec<u8>> {
        let item = if self.header.compact { 4 } else { 16 };
        let items = (entry.size - ENTRY_ITEMS) / item;
        let mut fields = Vec::new();
        if items > MAX_FIELDS as u64 {
            self.losses.fields += items - MAX_FIELDS as u64;
            self.losses.remember("an entry has too many fields");
        }
        for number in 0..items.min(MAX_FIELDS as u64) {
            match self
                .offset(entry.at + ENTRY_ITEMS + number * item)
                .and_then(|at| field(&mut self.file, &self.header, at))
            {
                Ok(Field::Whole(bytes)) => fields.push(bytes),
                Ok(Field::Cut(bytes)) => {
                    self.losses.cut += 1;
                    fields.push(bytes);
                }
                Ok(Field::Unreadable(why)) => {
                    self.losses.fields += 1;
                    self.losses.remember(format!("a field is {why}"));
                }
                Err(damage) => {
                    self.losses.fields += 1;
                    self.losses.remember(damage);
                }
            }
        }
        let bytes: u64 = fields.iter().map(|field| field.len() as u64).sum();
        self.room = self.room.saturating_sub(bytes + entry.size);
        if self.room == 0 {
            self.stop("it would become more than a hundred times as large as it is");
        }
        fields
    }

    fn stop(&mut self, why: impl ToString) {
        self.losses.end.get_or_insert_with(|| why.to_string());
        (self.left, self.array, self.item, self.end) = (0, 0, 0, 0);
    }

    /// Where the next entry is. Whole arrays before `since` are passed over.
    fn next_item(&mut self, since: u64) -> Result<Option<u64>, Damage> {
        let width = if self.header.compact { 4 } else { 8 };
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            if self.item + width <= self.end {
                let at = self.offset(self.item)?;
                self.item += width;
                self.left -= 1;
                // An array is made larger than it needs to be.
                return Ok(Some(at).filter(|&at| at != 0));
            }
            if self.array == 0 {
                return Ok(None);
            }
            self.open_array(width)?;
            let items = ((self.end - self.item) / width).min(self.left);
            if items > 0 && since > 0 && self.is_before(self.item + (items - 1) * width, since) {
                self.left -= items;
                self.item = self.end;
            }
        }
    }

    fn open_array(&mut self, width: u64) -> Result<(), Damage> {
        let at = self.array;
        if at < self.behind {
            return Err(Damage::at(at, "is an array of entries before the last one"));
        }
        let object = object(&mut self.file, &self.header, at, Kind::EntryArray, ARRAY_ITEMS)?;
        let next: [u8; 8] = self.file.array(at + 16)?;
        self.array = u64_at(&next, 0);
        self.behind = at + object.size;
        self.item = at + ARRAY_ITEMS;
        self.end = self.item + (object.size - ARRAY_ITEMS) / width * width;
        Ok(())
    }

    /// Whether the entry that the item at `item` names was received before `since`. Where that cannot be told, it was not.
    fn is_before(&mut self, item: u64, since: u64) -> bool {
        let entry = self.offset(item).and_then(|at| self.head(at));
        entry.is_ok_and(|entry| entry.realtime < since)
    }

    fn entry(&mut self, at: u64) -> Result<Entry, Damage> {
        if at < self.entry_behind {
            return Err(Damage::at(at, "is an entry before the last one"));
        }
        self.head(at)
    }

    fn head(&mut self, at: u64) -> Result<Entry, Damage> {
        let object = object(&mut self.file, &self.header, at, Kind::Entry, ENTRY_ITEMS)?;
        let bytes: [u8; ENTRY_ITEMS as usize] = self.file.array(at)?;
        Ok(Entry {
            at,
            size: object.size,
            number: u64_at(&bytes, 16),
            realtime: u64_at(&bytes, 24),
            monotonic: u64_at(&bytes, 32),
            boot: id_at(&bytes, 40),
            hash: u64_at(&bytes, 56),
        })
    }

    /// The offset that stands at `at`.
    fn offset(&mut self, at: u64) -> Result<u64, Damage> {
        if self.header.compact {
            let bytes: [u8; 4] = self.file.array(at)?;
            Ok(u32_at(&bytes, 0).into())
        } else {
            let bytes: [u8; 8] = self.file.array(at)?;
            Ok(u64_at(&bytes, 0))
        }
    }
}
