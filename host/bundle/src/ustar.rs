//! The tar format of bundles: POSIX.1-1988 `ustar` with only regular files and no unnecessary
//! header fields.
//!
//! The same content always has the same bytes. The reader therefore encodes each header again and
//! compares the result. This rejects anything hidden in a header or read differently by two
//! programs, without a list of such cases.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use plumbline_core::{Digest, DigestWriter};

use crate::error::UnpackError;
use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES};
use crate::name::{self, EntryFault, NAME_BYTES, PREFIX_BYTES, shown, split};

/// Size of a header and unit of padding, in bytes.
const BLOCK: usize = 512;
/// Bytes to read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Digest and size of a tar that [`Bundle::pack`](crate::Bundle::pack) wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Digest of the tar, which is also the digest of the bundle.
    pub digest: Digest,
    /// Size of the tar in bytes.
    pub bytes: u64,
}

/// Writes files one after another. The caller must pass them sorted by name.
pub(crate) struct Writer<W> {
    to: DigestWriter<W>,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to: DigestWriter::new(to) }
    }

    pub(crate) fn file(&mut self, name: &str, executable: bool, content: &[u8]) -> io::Result<()> {
        let size = content.len() as u64;
        let header = Header { name: name.to_owned(), size, executable }.encode();
        let header = header.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the name is too long"))?;
        self.to.write_all(&header)?;
        self.to.write_all(content)?;
        self.to.write_all([0; BLOCK].get(..padding(size)).unwrap_or_default())
    }

    pub(crate) fn finish(mut self) -> io::Result<Packed> {
        self.to.write_all(&[0; 2 * BLOCK])?;
        self.to.flush()?;
        Ok(Packed { digest: self.to.digest(), bytes: self.to.bytes() })
    }
}

/// Returns the number of zero bytes after `size` bytes of content.
fn padding(size: u64) -> usize {
    usize::try_from(size.next_multiple_of(BLOCK as u64) - size).unwrap_or(0)
}

/// Reads files from an untrusted source, one after another.
pub(crate) struct Reader<R> {
    from: R,
    hasher: DigestWriter<io::Sink>,
    files: BTreeSet<String>,
    bytes: u64,
    /// Unread bytes of the current file.
    left: u64,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, hasher: DigestWriter::new(io::sink()), files: BTreeSet::new(), bytes: 0, left: 0 }
    }

    /// Returns the next file, or `None` at the end of the tar, which is checked. Read its content
    /// with [`Reader::content`].
    pub(crate) fn next(&mut self) -> Result<Option<Header>, UnpackError> {
        let mut block = [0; BLOCK];
        let got = self.fill(&mut block)?;
        if self.files.is_empty() {
            foreign(block.get(..got).unwrap_or_default())?;
        }
        if got < BLOCK {
            return Err(UnpackError::Truncated(self.whole()));
        }
        if block == [0; BLOCK] {
            return self.end().map(|()| None);
        }
        if block.get(148..156).and_then(octal) != Some(u64::from(checksum(&block))) {
            return Err(match self.files.is_empty() {
                true => UnpackError::NotATar,
                false => UnpackError::Damaged(self.whole()),
            });
        }
        let header = Header::decode(&block)?;
        self.admit(&header)?;
        self.left = header.size;
        Ok(Some(header))
    }

    /// Passes the content of the current file to `out`, in chunks.
    pub(crate) fn content(
        &mut self,
        name: &str,
        mut out: impl FnMut(&[u8]) -> Result<(), UnpackError>,
    ) -> Result<(), UnpackError> {
        let size = self.left;
        let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(size).unwrap_or(CHUNK_BYTES))];
        while self.left > 0 {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
            let piece = chunk.get_mut(..most).unwrap_or_default();
            if self.fill(piece)? < most {
                return Err(UnpackError::Truncated(self.whole()));
            }
            self.left -= most as u64;
            out(piece)?;
        }
        let mut zeros = [0; BLOCK];
        let zeros = zeros.get_mut(..padding(size)).unwrap_or_default();
        if self.fill(zeros)? < zeros.len() {
            return Err(UnpackError::Truncated(self.whole()));
        }
        match zeros.iter().any(|&byte| byte != 0) {
            true => Err(refused(name.as_bytes(), EntryFault::Padding)),
            false => Ok(()),
        }
    }

    /// Returns the digest of all bytes read, and the names of the files.
    pub(crate) fn finish(self) -> (Digest, BTreeSet<String>) {
        (self.hasher.digest(), self.files)
    }

    /// Checks the order, ancestors and size of a file, and the totals.
    fn admit(&mut self, header: &Header) -> Result<(), UnpackError> {
        let name = header.name.as_str();
        if self.files.last().is_some_and(|last| last.as_str() >= name) {
            return Err(refused(name.as_bytes(), EntryFault::Order));
        }
        let mut above = name;
        while let Some((parent, _)) = above.rsplit_once('/') {
            if self.files.contains(parent) {
                return Err(refused(name.as_bytes(), EntryFault::BelowFile));
            }
            above = parent;
        }
        if header.size > MAX_ENTRY_BYTES {
            return Err(UnpackError::EntryTooLarge { entry: shown(name.as_bytes()), bytes: header.size });
        }
        self.bytes = self.bytes.saturating_add(header.size);
        if self.bytes > MAX_BUNDLE_BYTES {
            return Err(UnpackError::TooManyBytes);
        }
        if self.files.len() as u64 >= MAX_ENTRIES {
            return Err(UnpackError::TooManyEntries);
        }
        self.files.insert(name.to_owned());
        Ok(())
    }

    /// Checks the end of the tar, after the first of two zero blocks.
    fn end(&mut self) -> Result<(), UnpackError> {
        let mut block = [0; BLOCK];
        if self.fill(&mut block)? < BLOCK {
            return Err(UnpackError::Truncated(self.whole()));
        }
        if block != [0; BLOCK] {
            return Err(UnpackError::Damaged(self.whole()));
        }
        match self.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(UnpackError::Trailing),
        }
    }

    /// Returns the number of complete files, without the current one.
    fn whole(&self) -> u64 {
        (self.files.len() as u64).saturating_sub(u64::from(self.left > 0))
    }

    /// Fills `out`, or as much of it as the source provides.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, UnpackError> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.from.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(UnpackError::Source(error)),
            }
        }
        self.hasher.write_all(out.get(..filled).unwrap_or_default()).map_err(UnpackError::Source)?;
        Ok(filled)
    }
}

fn refused(name: &[u8], why: EntryFault) -> UnpackError {
    UnpackError::Refused { entry: shown(name), why }
}

fn foreign(beginning: &[u8]) -> Result<(), UnpackError> {
    let kinds: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh", "bzip2"),
        (b"PK\x03\x04", "zip"),
    ];
    match kinds.iter().find(|(magic, _)| beginning.starts_with(magic)) {
        Some((_, kind)) => Err(UnpackError::Compressed(kind)),
        None if beginning.len() < BLOCK => Err(UnpackError::NotATar),
        None => Ok(()),
    }
}

/// The fields of a header of 512 bytes that can vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) executable: bool,
}

impl Header {
    /// Encodes the header as a block. `None` if the name does not fit.
    fn encode(&self) -> Option<[u8; BLOCK]> {
        let (prefix, name) = split(&self.name)?;
        let mut block = [0; BLOCK];
        let mut put = |at: usize, text: &[u8]| {
            if let Some(field) = block.get_mut(at..at + text.len()) {
                field.copy_from_slice(text);
            }
        };
        put(0, name.as_bytes());
        put(100, if self.executable { b"0000755\0" } else { b"0000644\0" });
        put(108, b"0000000\0"); // uid
        put(116, b"0000000\0"); // gid
        put(124, format!("{:011o}\0", self.size).as_bytes());
        put(136, b"00000000000\0"); // mtime
        put(148, b"        "); // the checksum, while it is computed
        put(156, b"0"); // a regular file
        put(257, b"ustar\x0000");
        put(329, b"0000000\0"); // major and minor number of a device
        put(337, b"0000000\0");
        put(345, prefix.as_bytes());
        let sum = checksum(&block);
        if let Some(field) = block.get_mut(148..156) {
            field.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        Some(block)
    }

    /// Decodes a block that is not all zeros.
    fn decode(block: &[u8; BLOCK]) -> Result<Self, UnpackError> {
        let field = |at: usize, len: usize| block.get(at..at + len).unwrap_or_default();
        let mut raw = text(field(345, PREFIX_BYTES)).to_vec();
        if !raw.is_empty() {
            raw.push(b'/');
        }
        raw.extend_from_slice(text(field(0, NAME_BYTES)));
        // Check the type first. For a link, that is the useful message, not a problem with its
        // name.
        if let Some(fault) = wrong_type(field(156, 1).first().copied().unwrap_or_default()) {
            return Err(refused(&raw, fault));
        }
        let name = name::check(&raw).map_err(|fault| refused(&raw, fault))?.to_owned();
        let size = octal(field(124, 12)).ok_or_else(|| refused(&raw, EntryFault::Header))?;
        let header = Self { name, size, executable: field(100, 8) == b"0000755\0" };
        match header.encode() {
            Some(again) if again == *block => Ok(header),
            _ => Err(refused(&raw, EntryFault::Header)),
        }
    }
}

/// Returns what is wrong with the type of an entry.
fn wrong_type(byte: u8) -> Option<EntryFault> {
    Some(match byte {
        b'0' => return None,
        // Type of regular files before POSIX.
        0 => EntryFault::Header,
        b'1' => EntryFault::HardLink,
        b'2' => EntryFault::Symlink,
        b'3' | b'4' => EntryFault::Device,
        b'5' => EntryFault::Directory,
        b'6' => EntryFault::Fifo,
        b'S' => EntryFault::Sparse,
        b'x' | b'X' => EntryFault::Extended("pax"),
        b'g' => EntryFault::Extended("pax, for all entries"),
        b'L' | b'K' => EntryFault::Extended("GNU long name"),
        other => EntryFault::Type(other),
    })
}

/// Returns the sum of all bytes, with the checksum field counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let own = 148..156;
    block.iter().enumerate().map(|(at, &byte)| u32::from(if own.contains(&at) { b' ' } else { byte })).sum()
}

fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Parses octal digits up to a NUL or space.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.split(|&byte| matches!(byte, 0 | b' ')).next()?;
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn written_data_reads_back_equal(parts in prop::collection::vec("[a-zA-Z0-9._ä-]{1,60}", 1..5), size in 0u64..1 << 33, executable: bool) {
            let name = parts.join("/");
            prop_assume!(name::check(name.as_bytes()).is_ok());
            let header = Header { name, size, executable };
            prop_assert_eq!(Header::decode(&header.encode().unwrap()).unwrap(), header);
        }

        #[test]
        fn a_header_with_one_byte_changed_is_refused(at in 0usize..BLOCK, byte: u8, fix: bool) {
            let header = Header { name: "tests/case/expected.yaml".to_owned(), size: 512, executable: false };
            let mut block = header.encode().unwrap();
            prop_assume!(block[at] != byte);
            block[at] = byte;
            if fix {
                let sum = format!("{:06o}\0 ", checksum(&block));
                block[148..156].copy_from_slice(sum.as_bytes());
            }
            if let Ok(read) = Header::decode(&block) {
                prop_assert!(fix && read != header || (148..156).contains(&at), "{read:?}");
            }
        }
    }
}
