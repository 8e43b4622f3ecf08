//! The data of the page, in temporary files until the page is written: columns of numbers, a table
//! of distinct strings, and blocks of texts. Memory does not grow with the length of strings.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use base64::prelude::BASE64_STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

/// Values of a JSON array, in a temporary file.
pub(super) struct Spool {
    out: BufWriter<File>,
    /// The number of values.
    pub(super) len: u32,
}

impl Spool {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { out: BufWriter::new(tempfile::tempfile()?), len: 0 })
    }

    pub(super) fn push(&mut self, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        if self.len > 0 {
            self.out.write_all(b",")?;
        }
        self.len = self.len.saturating_add(1);
        Ok(serde_json::to_writer(&mut self.out, value)?)
    }

    /// Writes the array.
    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"[")?;
        copy(self.out, out)?;
        out.write_all(b"]")
    }
}

fn copy(from: BufWriter<File>, out: &mut impl Write) -> io::Result<()> {
    let mut file = from.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    io::copy(&mut file, out).map(drop)
}

/// Distinct strings, each with a number. The empty string is 0.
///
/// Strings are recognized by 128 bits of two keyed hashes, so that they need not be in memory.
pub(super) struct Strings {
    known: HashMap<u128, u32>,
    keys: (RandomState, RandomState),
    spool: Spool,
}

impl Strings {
    pub(super) fn new() -> io::Result<Self> {
        let keys = (RandomState::new(), RandomState::new());
        let mut strings = Self { known: HashMap::new(), keys, spool: Spool::new()? };
        strings.number("")?;
        Ok(strings)
    }

    /// The number of the string.
    pub(super) fn number(&mut self, text: &str) -> io::Result<u32> {
        let hash = (u128::from(self.keys.0.hash_one(text)) << 64) | u128::from(self.keys.1.hash_one(text));
        if let Some(number) = self.known.get(&hash) {
            return Ok(*number);
        }
        let number = self.spool.len;
        self.known.insert(hash, number);
        self.spool.push(text)?;
        Ok(number)
    }

    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        self.spool.finish(out)
    }
}

/// Writes what `fill` writes as an element that the script reads: gzip in Base64.
pub(super) fn element(
    id: &str,
    out: &mut impl Write,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // Neither the ID nor Base64 has characters that end the element.
    write!(out, "<script type=\"application/gzip\" id=\"{id}\">")?;
    let mut coder = GzEncoder::new(EncoderWriter::new(&mut *out, &BASE64_STANDARD), Compression::default());
    fill(&mut coder)?;
    coder.finish()?.finish()?;
    writeln!(out, "</script>")
}

/// The bytes of a block of texts before compression. The page decompresses one block to show a text.
const BLOCK: usize = 256 << 10;

/// The most bytes of all blocks in the page, so that the page stays small enough to open.
const MAX_BLOCKS: u64 = 8 << 20;

/// Texts of items, compressed in blocks.
pub(super) struct Texts {
    block: Vec<u8>,
    out: BufWriter<File>,
    /// The number of the first text of each complete block.
    starts: Vec<u32>,
    len: u32,
    written: u64,
}

impl Texts {
    pub(super) fn new() -> io::Result<Self> {
        let out = BufWriter::new(tempfile::tempfile()?);
        Ok(Self { block: Vec::new(), out, starts: Vec::new(), len: 0, written: 0 })
    }

    /// Adds the texts of an item. Returns their number, counted from 1, or 0 if there is no room.
    pub(super) fn push(&mut self, value: &impl Serialize) -> io::Result<u32> {
        if self.written >= MAX_BLOCKS {
            return Ok(0);
        }
        if self.block.is_empty() {
            self.starts.push(self.len);
        }
        self.block.push(if self.block.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut self.block, value)?;
        self.len = self.len.saturating_add(1);
        if self.block.len() >= BLOCK {
            self.end_block()?;
        }
        Ok(self.len)
    }

    fn end_block(&mut self) -> io::Result<()> {
        let Some(number) = self.starts.len().checked_sub(1).filter(|_| !self.block.is_empty()) else { return Ok(()) };
        self.block.push(b']');
        let block = std::mem::take(&mut self.block);
        let mut out = Counted { out: &mut self.out, bytes: 0 };
        element(&format!("texts-{number}"), &mut out, |out| out.write_all(&block))?;
        self.written = self.written.saturating_add(out.bytes);
        Ok(())
    }

    /// Writes the elements of the blocks, and returns the number of the first text of each.
    pub(super) fn finish(mut self, out: &mut impl Write) -> io::Result<Vec<u32>> {
        self.end_block()?;
        copy(self.out, out)?;
        Ok(self.starts)
    }
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes = self.bytes.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The content of an element.
#[cfg(test)]
pub(super) fn decoded(element: &str) -> String {
    use std::io::Read;

    use base64::Engine;

    let (_, rest) = element.split_once('>').unwrap();
    let bytes = BASE64_STANDARD.decode(rest.split_once('<').unwrap().0).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number() {
        let mut strings = Strings::new().unwrap();
        let numbers: Vec<u32> = ["a", "</script>", "a", ""].iter().map(|text| strings.number(text).unwrap()).collect();
        assert_eq!(numbers, [1, 2, 1, 0]);
        let mut out = Vec::new();
        element("data", &mut out, |out| strings.finish(&mut { out })).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert_eq!(page.matches("</script>").count(), 1);
        assert_eq!(decoded(&page), r#"["","a","</script>"]"#);
    }

    #[test]
    fn texts_are_in_blocks_and_too_many_have_no_number() {
        let mut texts = Texts::new().unwrap();
        let noise: String = (0..200_000_u64).map(|n| char::from(b'a' + (n.wrapping_mul(n) >> 7) as u8 % 26)).collect();
        assert_eq!((texts.push(&noise).unwrap(), texts.push(&noise).unwrap(), texts.push(&"x").unwrap()), (1, 2, 3));
        let mut out = Vec::new();
        assert_eq!(texts.finish(&mut out).unwrap(), [0, 2]);
        let page = String::from_utf8(out).unwrap();
        assert_eq!(decoded(page.lines().nth(1).unwrap()), r#"["x"]"#);

        let mut full = Texts::new().unwrap();
        full.written = MAX_BLOCKS;
        assert_eq!(full.push(&"x").unwrap(), 0);
    }
}
