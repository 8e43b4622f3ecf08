//! The parts of a file: its header, and the heads of its objects. All numbers are little-endian.

use std::fmt;
use std::io;

use super::blocks::Blocks;

/// The shortest header that there is. Releases from 187 on have further fields, which are not needed here.
const MIN_HEADER: u64 = 208;

/// Features without which a file cannot be read.
const COMPRESSED: u32 = 1 | 1 << 1 | 1 << 3;
const KEYED_HASH: u32 = 1 << 2;
const COMPACT: u32 = 1 << 4;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    at: u64,
    what: String,
}

impl Damage {
    pub(super) fn at(at: u64, what: &str) -> Self {
        Self { at, what: what.to_owned() }
    }

    pub(super) fn io(at: u64, error: io::Error) -> Self {
        Self { at, what: format!("cannot be read: {error}") }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what stands at byte {} {}", self.at, self.what)
    }
}

/// What is needed of a header.
#[derive(Debug, Clone)]
pub(super) struct Header {
    /// Whether offsets have 32 bits.
    pub(super) compact: bool,
    /// Whether journald has it open, or has not closed it: then what it says about its end may be old.
    pub(super) open: bool,
    /// Its length: no object begins before.
    pub(super) length: u64,
    /// Where the first array of entries is.
    pub(super) entry_array: u64,
    /// How many entries there are.
    pub(super) entries: u64,
    /// When the first one was received, in microseconds since 1970.
    pub(super) first: u64,
    /// When the last one was received.
    pub(super) last: u64,
    /// What the sequence numbers count.
    pub(super) sequence: [u8; 16],
}

impl Header {
    pub(super) fn read(file: &mut Blocks) -> Result<Self, Damage> {
        let bytes: [u8; MIN_HEADER as usize] = file.array(0)?;
        if bytes.get(..8) != Some(b"LPKSHHRH") {
            return Err(Damage::at(0, "is no journal's header"));
        }
        let features = u32_at(&bytes, 12);
        if features & !(COMPRESSED | KEYED_HASH | COMPACT) != 0 {
            return Err(Damage { at: 12, what: format!("asks for a feature that is not known here: {features:#x}") });
        }
        let header = Self {
            compact: features & COMPACT != 0,
            open: bytes.get(16) != Some(&2) && bytes.get(16) != Some(&0),
            length: u64_at(&bytes, 88),
            entry_array: u64_at(&bytes, 176),
            entries: u64_at(&bytes, 152),
            first: u64_at(&bytes, 184),
            last: u64_at(&bytes, 192),
            sequence: id_at(&bytes, 72),
        };
        if header.length < MIN_HEADER || header.length > file.length() || !header.length.is_multiple_of(8) {
            return Err(Damage::at(88, "is no length of a header"));
        }
        Ok(header)
    }
}

/// The kinds of objects that are needed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data = 1,
    Entry = 3,
    EntryArray = 6,
}

/// An object that lies in the file as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Its bytes, its head included.
    pub(super) size: u64,
    /// How it is compressed.
    pub(super) flags: u8,
}

/// The head of the object at `at`, which must be of this kind and have at least `min` bytes.
pub(super) fn object(file: &mut Blocks, header: &Header, at: u64, kind: Kind, min: u64) -> Result<Object, Damage> {
    if !at.is_multiple_of(8) || at < header.length {
        return Err(Damage::at(at, "is no place for an object"));
    }
    let bytes: [u8; 16] = file.array(at)?;
    if bytes.first() != Some(&(kind as u8)) {
        return Err(Damage { at, what: format!("is not {kind:?} but of kind {}", bytes.first().unwrap_or(&0)) });
    }
    let size = u64_at(&bytes, 8);
    if size < min || at.checked_add(size).is_none_or(|end| end > file.length()) {
        return Err(Damage { at, what: format!("has an impossible size: {size}") });
    }
    Ok(Object { size, flags: bytes.get(1).copied().unwrap_or_default() })
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
    part.map_or(0, u64::from_le_bytes)
}

pub(super) fn id_at(bytes: &[u8], at: usize) -> [u8; 16] {
    bytes.get(at..at + 16).and_then(|part| part.try_into().ok()).unwrap_or_default()
}
