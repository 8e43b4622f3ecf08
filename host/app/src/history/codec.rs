//! Bytes of the index: varints, texts, and sections with a checksum.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crc32fast::hash;

/// The bits of a number in each byte of a varint.
const BITS: u32 = 7;

/// The bit that says that more bytes follow.
const MORE: u8 = 0x80;

/// A part of bytes that several owners share.
#[derive(Clone)]
pub(super) struct SharedBytes {
    all: Arc<Vec<u8>>,
    part: Range<usize>,
}

impl SharedBytes {
    /// The part of `all`, which is empty if `all` ends before it.
    pub(super) fn new(all: &Arc<Vec<u8>>, part: Range<usize>) -> Self {
        Self { all: Arc::clone(all), part }
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        let part = 0..bytes.len();
        Self { all: Arc::new(bytes), part }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.all.get(self.part.clone()).unwrap_or_default()
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedBytes {}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Appends values to bytes.
#[derive(Debug, Default)]
pub(super) struct Encoder(Vec<u8>);

impl Encoder {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn number(&mut self, mut number: u64) {
        loop {
            let low = (number & u64::from(!MORE)) as u8;
            number >>= BITS;
            if number == 0 {
                return self.0.push(low);
            }
            self.0.push(low | MORE);
        }
    }

    /// A number that may be negative (zigzag).
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.raw(text.as_bytes());
    }

    /// Appends the length, the checksum and the content. A section has less than 4 GiB.
    pub(super) fn section(&mut self, content: &Self) {
        self.raw(&u32::try_from(content.0.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.raw(&hash(&content.0).to_le_bytes());
        self.raw(&content.0);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads values from bytes. Every method returns `None` if they are missing or invalid.
#[derive(Debug, Clone)]
pub(super) struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        // Most numbers have one byte.
        if let Some(first) = self.0.first().filter(|first| **first & MORE == 0) {
            self.0 = self.0.get(1..)?;
            return Some(u64::from(*first));
        }
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(BITS as usize) {
            let byte = self.byte()?;
            let low = u64::from(byte & !MORE);
            // The tenth byte has room for one bit.
            if low << shift >> shift != low {
                return None;
            }
            number |= low << shift;
            if byte & MORE == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A length, and as many bytes.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// A count, and as many values. Each takes at least a byte, so memory does not exceed what the
    /// bytes justify.
    pub(super) fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok().filter(|count| *count <= self.0.len())?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(one(self)?);
        }
        Some(list)
    }

    /// The next section: `None` at the end, `Some(None)` if its checksum is wrong.
    pub(super) fn section(&mut self) -> Option<Option<Self>> {
        let (length, checksum) = (self.word()?, self.word()?);
        let content = self.take(usize::try_from(length).ok()?)?;
        Some((hash(content) == checksum).then_some(Self(content)))
    }

    fn word(&mut self) -> Option<u32> {
        self.take(size_of::<u32>())?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }
}
