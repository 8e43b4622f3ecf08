//! Reader for the tar of a bundle from an untrusted source.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use crate::digest::{Digest, DigestWriter};
use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES};
use crate::name::EntryFault;
use crate::ustar::header::{Header, HeaderError};
use crate::ustar::{BLOCK, padding};

/// Bytes to read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Error while reading a tar.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The source could not be read.
    Source(io::Error),
    /// The input is compressed, in the given format.
    Compressed(&'static str),
    /// The input is not a tar.
    NotATar,
    /// The input is truncated after this number of complete files.
    Truncated(u64),
    /// A block is malformed after this number of complete files.
    Damaged(u64),
    /// Bytes follow the end of the tar.
    Trailing,
    /// There are too many files.
    TooManyEntries,
    /// The total size of the files is too large.
    TooManyBytes,
    /// A file is too large. Holds its name and size.
    EntryTooLarge(String, u64),
    /// An entry cannot be part of a bundle. Holds its name and the reason.
    Refused(String, EntryFault),
}

/// Reads files one after another.
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
    pub(crate) fn next(&mut self) -> Result<Option<Header>, ReadError> {
        let mut block = [0; BLOCK];
        let got = self.fill(&mut block)?;
        if self.hasher.bytes() <= BLOCK as u64 {
            foreign(block.get(..got).unwrap_or_default())?;
        }
        if got < BLOCK {
            return Err(ReadError::Truncated(self.whole()));
        }
        if block == [0; BLOCK] {
            return self.end().map(|()| None);
        }
        let header = match Header::decode(&block) {
            Ok(header) => header,
            Err(HeaderError::Checksum) if self.files.is_empty() => return Err(ReadError::NotATar),
            Err(HeaderError::Checksum) => return Err(ReadError::Damaged(self.whole())),
            Err(HeaderError::Refused(name, fault)) => return Err(ReadError::Refused(name, fault)),
        };
        self.admit(&header)?;
        self.left = header.size;
        Ok(Some(header))
    }

    /// Passes the content of the current file to `out`, in chunks.
    pub(crate) fn content<E: From<ReadError>>(
        &mut self,
        name: &str,
        mut out: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = self.left;
        let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(size).unwrap_or(CHUNK_BYTES))];
        while self.left > 0 {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
            let piece = chunk.get_mut(..most).unwrap_or_default();
            if self.fill(piece)? < most {
                return Err(ReadError::Truncated(self.whole()).into());
            }
            self.left -= most as u64;
            out(piece)?;
        }
        let mut zeros = [0; BLOCK];
        let zeros = zeros.get_mut(..padding(size)).unwrap_or_default();
        if self.fill(zeros)? < zeros.len() {
            return Err(ReadError::Truncated(self.whole()).into());
        }
        if zeros.iter().any(|&byte| byte != 0) {
            return Err(ReadError::Refused(crate::name::shown(name.as_bytes()), EntryFault::Padding).into());
        }
        Ok(())
    }

    /// Returns the digest of all bytes read.
    pub(crate) fn digest(&self) -> Digest {
        self.hasher.digest()
    }

    /// Returns the names of the files read so far.
    pub(crate) fn files(&self) -> &BTreeSet<String> {
        &self.files
    }

    /// Checks the order, ancestors and size of a file, and the totals.
    fn admit(&mut self, header: &Header) -> Result<(), ReadError> {
        let refused = |fault| Err(ReadError::Refused(crate::name::shown(header.name.as_bytes()), fault));
        if self.files.last().is_some_and(|last| *last >= header.name) {
            return refused(EntryFault::Order);
        }
        let mut above = header.name.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            if self.files.contains(parent) {
                return refused(EntryFault::BelowFile);
            }
            above = parent;
        }
        if header.size > MAX_ENTRY_BYTES {
            return Err(ReadError::EntryTooLarge(crate::name::shown(header.name.as_bytes()), header.size));
        }
        self.bytes = self.bytes.saturating_add(header.size);
        if self.bytes > MAX_BUNDLE_BYTES {
            return Err(ReadError::TooManyBytes);
        }
        if self.files.len() as u64 >= MAX_ENTRIES {
            return Err(ReadError::TooManyEntries);
        }
        self.files.insert(header.name.clone());
        Ok(())
    }

    /// Checks the end of the tar, after the first of two zero blocks.
    fn end(&mut self) -> Result<(), ReadError> {
        let mut block = [0; BLOCK];
        if self.fill(&mut block)? < BLOCK {
            return Err(ReadError::Truncated(self.files.len() as u64));
        }
        if block != [0; BLOCK] {
            return Err(ReadError::Damaged(self.files.len() as u64));
        }
        match self.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(ReadError::Trailing),
        }
    }

    /// Returns the number of complete files, without the current one.
    fn whole(&self) -> u64 {
        (self.files.len() as u64).saturating_sub(u64::from(self.left > 0))
    }

    /// Fills `out`, or as much of it as the source provides.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.from.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Source(error)),
            }
        }
        // Writing to a sink cannot fail.
        let _ = self.hasher.write_all(out.get(..filled).unwrap_or_default());
        Ok(filled)
    }
}

/// Detects common file types that are not bundles by their first bytes.
fn foreign(beginning: &[u8]) -> Result<(), ReadError> {
    let kinds: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh", "bzip2"),
        (b"PK\x03\x04", "zip"),
    ];
    match kinds.iter().find(|(magic, _)| beginning.starts_with(magic)) {
        Some((_, kind)) => Err(ReadError::Compressed(kind)),
        None if beginning.len() < BLOCK => Err(ReadError::NotATar),
        None => Ok(()),
    }
}
