//! Iterates over the members of a gzipped tar stream, within limits.
//!
//! The `tar` crate parses the format. This module limits what the crate does not, by metering what
//! it reads:
//!
//! * the headers of one member, because the crate keeps long names and extended headers in memory
//! * the bytes of the whole stream
//! * the number of members
//!
//! It also verifies the end: an archive is complete only with its end marker and the checksum of
//! its gzip stream.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Read};
use std::mem;
use std::ops::ControlFlow;

use plumbline_core::ReceiveLimits;
use plumbline_core::limits::RESULT_NAME_BYTES;
use plumbline_core::text::Printable;
use tar::EntryType;

use super::name::{MemberName, NameFault, NameLimits, shown};
use super::skipped::SkipReason;
use crate::gzip::{Gunzip, GzipFault, count_trailing};

/// The maximum size of the headers of one member in bytes, including long names, extended headers
/// and sparse maps. Default 1 MiB: a name takes 4 KiB at most, and the rest are attributes that
/// Plumbline does not read.
const METADATA_BYTES: u64 = 1 << 20;

/// The size of a member in the stream without its content: header, padding, and an extra header for
/// a long name.
const OVERHEAD_BYTES: u64 = 2048;

/// The size of a header, and of the blocks to which everything is padded (POSIX.1, pax, "ustar
/// Interchange Format").
const BLOCK_BYTES: u64 = 512;

/// The number of bytes unpacked at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// The limits for unpacking one archive. They are checked while streaming, and a size is checked
/// before its bytes are read. A compression bomb or a false size therefore costs no more than the
/// limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractLimits {
    /// The total size of all members in bytes, written or not. Default 16 GiB.
    pub unpacked_bytes: u64,
    /// The number of members, written or not. Also limits the number of written files and
    /// directories, including directories that only occur in names of files. Default 100,000.
    pub entries: u64,
    /// The limits on names. Default [`NameLimits::RESULT`].
    pub names: NameLimits,
    /// The total length of all names in bytes. Default [`RESULT_NAME_BYTES`].
    pub name_bytes: u64,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        Self::from(&ReceiveLimits::default())
    }
}

impl From<&ReceiveLimits> for ExtractLimits {
    fn from(limits: &ReceiveLimits) -> Self {
        let ReceiveLimits { unpacked_bytes, entries, .. } = *limits;
        Self { unpacked_bytes, entries, names: NameLimits::RESULT, name_bytes: RESULT_NAME_BYTES }
    }
}

/// The outer or inner format of a `.tar.gz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Layer {
    /// The compression.
    #[error("gzip")]
    Gzip,
    /// The archive inside.
    #[error("tar")]
    Tar,
}

/// Error while reading a `.tar.gz` to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The source failed, such as a lost connection or a bad disk. This says nothing about the
    /// archive.
    #[error("read error: {0}")]
    Source(#[source] io::Error),
    /// The data is not gzip.
    #[error("not a gzip stream")]
    NotGzip,
    /// The decompressed data is not a tar archive.
    #[error("the gzip stream has no tar archive: {0}")]
    NotTar(String),
    /// The compressed data or the archive in it is truncated.
    #[error("the {layer} stream ends early, after {after} whole members")]
    Truncated {
        /// The format that ends early.
        layer: Layer,
        /// The number of complete members before that.
        after: u64,
    },
    /// Data is invalid, or a checksum is wrong.
    #[error("the {layer} stream is damaged after {after} whole members: {reason}")]
    Corrupt {
        /// The damaged format.
        layer: Layer,
        /// The number of complete members before that.
        after: u64,
        /// The reason.
        reason: String,
    },
    /// There are more members than this limit.
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    /// The names take more bytes than this limit.
    #[error("the names of all files together have more than {0} bytes")]
    TooManyNameBytes(u64),
    /// The unpacked data takes more bytes than this limit.
    #[error("more than {0} bytes unpacked")]
    TooManyBytes(u64),
    /// The headers of one member take more than 1 MiB.
    #[error("more than {METADATA_BYTES} bytes of headers for one member")]
    TooMuchMetadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file; executable if anyone may execute it.
    File { executable: bool },
    /// A directory.
    Dir,
    /// A kind that is never written.
    Skip(SkipReason),
    /// A global extended header, which describes the archive and is not a member.
    Note,
}

/// One member, while the stream is at its content. Reading returns the content, and an error if the
/// stream is truncated.
pub(crate) struct Member<'a> {
    /// Its name, or why it is rejected.
    pub name: Result<MemberName, NameFault>,
    /// Its name for display, cut.
    pub shown: Printable,
    pub kind: Kind,
    /// The size of the content in bytes.
    pub size: u64,
    /// The offset of the content in the unpacked stream.
    pub offset: u64,
    /// The target of a symbolic link.
    pub target: Option<Vec<u8>>,
    content: &'a mut dyn Read,
    left: u64,
    classify: &'a dyn Fn(io::Error) -> StreamError,
}

impl Member<'_> {
    pub(crate) fn copy_to<E: From<StreamError>>(
        &mut self,
        mut out: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(self.left).unwrap_or(CHUNK_BYTES))];
        while self.left > 0 {
            let read = self.read_some(&mut chunk)?;
            out(chunk.get(..read).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Reads at least one byte, if any is left.
    fn read_some(&mut self, out: &mut [u8]) -> Result<usize, StreamError> {
        if self.left == 0 || out.is_empty() {
            return Ok(0);
        }
        match self.content.read(out) {
            Ok(0) => Err((self.classify)(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => {
                self.left = self.left.saturating_sub(read as u64);
                Ok(read)
            }
            Err(error) => Err((self.classify)(error)),
        }
    }
}

impl Read for Member<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.read_some(out).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    /// The number of members, including those that were not written.
    pub entries: u64,
    /// The number of bytes after the end of the archive that are not padding.
    pub trailing: u64,
}

/// Calls `each` for every member in order, until it breaks or the archive ends. Content that `each`
/// does not read is skipped. `allows_plain_tar` also accepts an archive that is not compressed.
///
/// Data after the archive's end marker is read to the end of the source and counted, but not
/// interpreted.
pub(crate) fn each_member<R: Read, E: From<StreamError>>(
    source: R,
    limits: &ExtractLimits,
    allows_plain_tar: bool,
    mut each: impl FnMut(&mut Member<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<Seen, E> {
    let stream = Metered::new(source, limits, allows_plain_tar);
    let classify = |error| stream.classify(error);
    let mut archive = tar::Archive::new(&stream);
    let mut bytes_left = limits.unpacked_bytes;
    let mut name_bytes = 0_u64;
    let mut seen = Seen::default();
    let mut entries = archive.entries().map_err(classify)?;
    let mut passed_over = 0;
    loop {
        stream.allow(passed_over);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(classify)?;
        if seen.entries >= limits.entries {
            return Err(StreamError::TooManyEntries(limits.entries).into());
        }
        let (kind, size) = examine(&mut entry).map_err(|reason| stream.corrupt(reason))?;
        bytes_left = bytes_left.checked_sub(size).ok_or(StreamError::TooManyBytes(limits.unpacked_bytes))?;
        stream.allow_content();
        let raw = entry.path_bytes();
        let (name, shown) = (MemberName::parse(&raw, &limits.names), shown(&raw));
        drop(raw);
        name_bytes = name_bytes.saturating_add(name.as_ref().map_or(0, |name| name.as_str().len() as u64));
        let offset = entry.raw_file_position();
        let is_link = kind == Kind::Skip(SkipReason::Symlink);
        let target = entry.link_name_bytes().filter(|_| is_link).map(|target| target.into_owned());
        // The crate would not return the raw content of a sparse file, but it skips it by itself.
        let is_sparse = entry.header().entry_type().is_gnu_sparse();
        passed_over = if is_sparse { size } else { 0 };
        let left = if is_sparse { 0 } else { size };
        let mut member =
            Member { name, shown, kind, size, offset, target, content: &mut entry, left, classify: &classify };
        if kind != Kind::Note {
            if name_bytes > limits.name_bytes {
                return Err(StreamError::TooManyNameBytes(limits.name_bytes).into());
            }
            if each(&mut member)?.is_break() {
                return Ok(seen);
            }
        }
        member.copy_to(|_| Ok::<(), StreamError>(()))?;
        seen.entries += 1;
        stream.whole_members.set(seen.entries);
    }
    stream.allow_content();
    seen.trailing = stream.read_to_end()?;
    Ok(seen)
}

/// Returns the kind of a member, and the size of its content in the stream.
fn examine<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<(Kind, u64), String> {
    let entry_type = entry.header().entry_type();
    if entry_type.is_pax_global_extensions() || entry_type.is_pax_local_extensions() {
        // Asking such an entry for its extensions would read its content.
        let kind = if entry_type.is_pax_global_extensions() { Kind::Note } else { other(entry_type) };
        return Ok((kind, entry.size()));
    }
    let (mut sparse, mut pax_size, mut pax_path) = (false, None, false);
    if let Some(extensions) = entry.pax_extensions().map_err(|e| e.to_string())? {
        for extension in extensions {
            // An invalid record may have been a name or a size, so what follows cannot be trusted.
            let extension = extension.map_err(|e| e.to_string())?;
            sparse |= extension.key_bytes().starts_with(b"GNU.sparse.");
            // Readers disagree on which of two records applies.
            let twice = match extension.key_bytes() {
                b"size" => pax_size.replace(parse_size(extension.value_bytes())?).is_some(),
                b"path" => mem::replace(&mut pax_path, true),
                _ => false,
            };
            if twice {
                return Err("an extended header with a duplicate key".to_owned());
            }
        }
    }
    let size = match pax_size {
        // For a sparse file, the crate returns the unpacked size, which differs from the size in
        // the stream.
        None if entry_type.is_gnu_sparse() => entry.header().entry_size().map_err(|e| e.to_string())?,
        Some(size) => size,
        None => entry.size(),
    };
    let kind = match entry_type {
        EntryType::GNUSparse => Kind::Skip(SkipReason::Sparse),
        _ if sparse => Kind::Skip(SkipReason::Sparse),
        // Before POSIX had a type for directories, they were files whose name ends with a slash.
        // Readers still accept that.
        EntryType::Regular | EntryType::Continuous if entry.path_bytes().ends_with(b"/") => Kind::Dir,
        EntryType::Regular | EntryType::Continuous => {
            Kind::File { executable: entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0) }
        }
        EntryType::Directory => Kind::Dir,
        EntryType::Symlink => Kind::Skip(SkipReason::Symlink),
        EntryType::Link => Kind::Skip(SkipReason::HardLink),
        EntryType::Char | EntryType::Block => Kind::Skip(SkipReason::Device),
        EntryType::Fifo => Kind::Skip(SkipReason::Fifo),
        unknown => return Ok((other(unknown), size)),
    };
    // Readers disagree on whether such content exists: what one reads as content, another reads as
    // the next member.
    match kind {
        Kind::File { .. } | Kind::Skip(SkipReason::Sparse) => Ok((kind, size)),
        _ if size == 0 => Ok((kind, size)),
        Kind::Skip(skip) => Err(format!("{skip} with content")),
        _ => Err("a directory with content".to_owned()),
    }
}

fn parse_size(value: &[u8]) -> Result<u64, String> {
    let number = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| "an extended header with a size that is not a number".to_owned())
}

fn other(entry_type: EntryType) -> Kind {
    Kind::Skip(SkipReason::Type(entry_type.as_byte()))
}

/// The unpacked stream, with metering.
struct Metered<R> {
    inner: RefCell<BufReader<Gunzip<R>>>,
    /// The number of bytes that may be read before the next step.
    allowance: Cell<u64>,
    /// The number of bytes that may be read in total.
    ceiling: Cell<u64>,
    unpacked_limit: u64,
    over: Cell<Option<Over>>,
    at_end: Cell<bool>,
    read: Cell<u64>,
    whole_members: Cell<u64>,
}

#[derive(Clone, Copy)]
enum Over {
    Allowance,
    Ceiling,
}

impl<R: Read> Metered<R> {
    fn new(source: R, limits: &ExtractLimits, allows_plain_tar: bool) -> Self {
        let stream = if allows_plain_tar { Gunzip::or_tar(source) } else { Gunzip::new(source) };
        let overhead = limits.entries.saturating_mul(OVERHEAD_BYTES).saturating_add(METADATA_BYTES);
        Self {
            inner: RefCell::new(BufReader::with_capacity(CHUNK_BYTES, stream)),
            allowance: Cell::new(0),
            ceiling: Cell::new(limits.unpacked_bytes.saturating_add(overhead)),
            unpacked_limit: limits.unpacked_bytes,
            over: Cell::new(None),
            at_end: Cell::new(false),
            read: Cell::new(0),
            whole_members: Cell::new(0),
        }
    }

    /// Allows the headers of one member, after `passed_over` bytes to skip.
    fn allow(&self, passed_over: u64) {
        self.allowance.set(METADATA_BYTES.saturating_add(passed_over));
    }

    /// Allows any content, because its size was already checked.
    fn allow_content(&self) {
        self.allowance.set(u64::MAX);
    }

    fn corrupt(&self, reason: String) -> StreamError {
        let after = self.whole_members.get();
        if after == 0 && self.read.get() <= BLOCK_BYTES {
            return StreamError::NotTar(reason);
        }
        StreamError::Corrupt { layer: Layer::Tar, after, reason }
    }

    /// Determines the cause of an error from the `tar` crate, which only reports text.
    fn classify(&self, error: io::Error) -> StreamError {
        let after = self.whole_members.get();
        match self.over.get() {
            Some(Over::Allowance) => return StreamError::TooMuchMetadata,
            Some(Over::Ceiling) => return StreamError::TooManyBytes(self.unpacked_limit),
            None => {}
        }
        match self.inner.borrow().get_ref().fault() {
            Some(GzipFault::Source) => StreamError::Source(error),
            Some(GzipFault::NotGzip) => StreamError::NotGzip,
            Some(GzipFault::Truncated) => StreamError::Truncated { layer: Layer::Gzip, after },
            Some(GzipFault::Corrupt) => StreamError::Corrupt { layer: Layer::Gzip, after, reason: error.to_string() },
            None if self.at_end.get() && self.read.get() >= BLOCK_BYTES => {
                StreamError::Truncated { layer: Layer::Tar, after }
            }
            None => self.corrupt(error.to_string()),
        }
    }

    /// Reads what follows the archive, which completes and verifies the gzip stream. Returns the
    /// number of bytes that are not padding.
    fn read_to_end(&self) -> Result<u64, StreamError> {
        if self.at_end.get() {
            // The crate treats the end of the stream as the end of the archive, but an archive must
            // end with a block of zeros.
            return Err(self.classify(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream is empty")));
        }
        let mut stream = self;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut trailing = 0;
        loop {
            match stream.read(&mut chunk).map_err(|error| self.classify(error))? {
                0 => return Ok(trailing + self.inner.borrow().get_ref().trailing()),
                read => trailing = count_trailing(trailing, chunk.get(..read).unwrap_or_default()),
            }
        }
    }
}

impl<R: Read> Read for &Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let allowed = self.allowance.get().min(self.ceiling.get());
        if allowed == 0 && !out.is_empty() {
            self.over.set(Some(if self.ceiling.get() == 0 { Over::Ceiling } else { Over::Allowance }));
            return Err(io::Error::other("a limit is reached"));
        }
        let mut inner = self.inner.borrow_mut();
        let data = inner.fill_buf()?;
        let most = usize::try_from(allowed).unwrap_or(usize::MAX).min(out.len());
        let read = data.len().min(most);
        if let (Some(to), Some(from)) = (out.get_mut(..read), data.get(..read)) {
            to.copy_from_slice(from);
        }
        inner.consume(read);
        if read == 0 && !out.is_empty() {
            self.at_end.set(true);
        }
        self.read.set(self.read.get().saturating_add(read as u64));
        self.allowance.set(self.allowance.get().saturating_sub(read as u64));
        self.ceiling.set(self.ceiling.get().saturating_sub(read as u64));
        Ok(read)
    }
}
