//! Packs a directory into a reproducible `.tar.gz`.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, PermissionsExt};
use plumbline_core::limits::ARCHIVE_ENTRIES;
use plumbline_core::text::Printable;
use plumbline_core::{DigestWriter, ReceiveLimits};
use tar::{Builder, EntryType, Header};

use crate::atomic::{AtomicFile, is_temporary};
use crate::bounded::{CapReached, Capped, ExactReader, Fault};
use crate::disk::Disk;
use crate::gzip::{DEFAULT_LEVEL, Digest, ParallelGzip, default_threads};
use crate::layout::LEFT_OUT_FILE;
pub use crate::member::{MAX_SKIPPED_LISTED, SkipReason, Skipped};
use crate::member::{MemberName, NameFault, NameLimits, is_read_alike, shown, skip};
use crate::walk::{WalkEntry, WalkError, walk};

/// The maximum number of lost entries that the list contains.
const MAX_LOST_LISTED: usize = 10;

/// The options for packing a directory. The output does not depend on the number of threads.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// The number of compression threads in addition to the caller's. With 1, the caller's thread
    /// compresses. Default: the cores of this machine, at most eight.
    pub threads: NonZeroUsize,
    /// The maximum number of files and directories. Default [`ARCHIVE_ENTRIES`].
    pub entries: u64,
    /// The limits on names. Default: those of a results archive.
    pub names: NameLimits,
    /// Whether the directory becomes a result. A name that is too long or too deep is then an
    /// error, and [`LEFT_OUT_FILE`] lists lost entries, if there are any.
    ///
    /// Lost entries are skipped entries other than sockets, devices, files that were removed
    /// meanwhile, and some links: those to packed directories, and to packed files with the same
    /// extension or name. Default `false`: the file is skipped, and there is no list.
    pub is_result: bool,
    /// The maximum size of the packed stream in bytes. Default: unlimited.
    pub max_bytes: Option<u64>,
    /// Files inside the directory that are not packed, by path and not by name. An example is the
    /// output file, if it is inside the packed directory.
    pub exclude: Vec<PathBuf>,
    /// The file system that [`write_archive`] writes to.
    pub disk: Disk,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            threads: default_threads(),
            entries: ARCHIVE_ENTRIES,
            names: NameLimits::default(),
            is_result: false,
            max_bytes: None,
            exclude: Vec::new(),
            disk: Disk::default(),
        }
    }
}

impl PackOptions {
    /// Returns options for processes that must stay small: only the caller's thread.
    pub fn single_threaded() -> Self {
        Self { threads: NonZeroUsize::MIN, ..Self::default() }
    }

    /// Returns options for a directory that becomes a result, with the limits of an upload.
    pub fn for_upload(limits: &ReceiveLimits) -> Self {
        Self { entries: limits.entries, names: NameLimits::RESULT, is_result: true, ..Self::default() }
    }
}

/// The outcome of packing a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// The size and digest of the packed stream.
    pub digest: Digest,
    /// The number of files and directories in it.
    pub entries: u64,
    /// The first [`MAX_SKIPPED_LISTED`] skipped entries.
    pub skipped: Vec<Skipped>,
    /// The number of skipped entries.
    pub skipped_total: u64,
}

/// Packs the content of `dir` as a gzipped tar to `out`, streaming, and returns `out` after a
/// flush.
///
/// * Entries are in order of names: a directory, then its content. Names are relative to `dir`,
///   without `./` in front or a slash at the end. The root itself is not a member.
/// * Temporary files of [`crate::atomic`] are not packed, since a killed process left them behind.
/// * Only regular files and directories are packed. Links, sockets, pipes, devices, and files whose
///   name is not UTF-8 are skipped and reported, so nothing outside of `dir` is packed. Names that
///   exceed the limits are skipped too, unless [`PackOptions::is_result`] makes them errors.
/// * The owner is 0, without a name. Directories have mode 0755, and files 0644, or 0755 if their
///   owner may execute them. Modification times are in whole seconds.
/// * A file is packed with the size that it had when it was opened. Data appended meanwhile is not
///   in the archive.
/// * Memory is needed for the names of the directories on the current path, and for
///   [`ParallelGzip`].
///
/// `cancelled` is called before every entry and every few KiB.
///
/// # Errors
/// What was already written to `out` is an incomplete archive, which every reader reports.
pub fn pack_directory<W: Write>(
    dir: &Path,
    out: W,
    options: &PackOptions,
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<(W, Packing), PackError> {
    pack_into(dir, out, "the packed data", options, cancelled)
}

/// Packs the content of `dir` into the file `out`, as [`pack_directory`] does.
///
/// The file is written as `.OUT.part` next to `out` and then moved, so a partial archive never
/// appears under its final name. A part that a killed process left is replaced. If `out` is inside
/// `dir`, it is not packed.
///
/// # Errors
/// The temporary file is then removed, and an existing file at `out` stays.
pub fn write_archive(dir: &Path, out: &Path, options: &PackOptions) -> Result<Packing, PackError> {
    let what = format!("`{}`", out.display());
    let file = AtomicFile::create_part_on(&options.disk, out, 0o644).map_err(|error| PackError::write(&what, error))?;
    let mut options = options.clone();
    options.exclude.extend([out.to_owned(), file.temporary_path().to_owned()]);
    let (file, packing) = pack_into(dir, file, &what, &options, &mut || false)?;
    file.commit().map_err(|error| PackError::write(&what, error))?;
    Ok(packing)
}

/// Packs like [`pack_directory`]. Errors refer to the output as `what`.
fn pack_into<W: Write>(
    dir: &Path,
    out: W,
    what: &str,
    options: &PackOptions,
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<(W, Packing), PackError> {
    let root =
        Dir::open_ambient_dir(dir, ambient_authority()).map_err(|source| PackError::Open(dir.to_owned(), source))?;
    let out = DigestWriter::new(Capped { out, left: options.max_bytes.unwrap_or(u64::MAX) });
    let mut packer = Packer {
        tar: Builder::new(ParallelGzip::new(out, DEFAULT_LEVEL, options.threads)),
        what,
        options,
        excluded: excluded(dir, &options.exclude),
        cancelled,
        entries: 0,
        skipped: Vec::new(),
        skipped_total: 0,
        root: dir.canonicalize().ok(),
        lost: Vec::new(),
        lost_total: 0,
    };
    walk(&root, options.entries, &options.names, &mut |met| packer.take(met))?;
    packer.finish()
}

/// Returns the relative paths of the excluded files that are inside `dir`.
fn excluded(dir: &Path, exclude: &[PathBuf]) -> BTreeSet<PathBuf> {
    let Ok(dir) = dir.canonicalize() else { return BTreeSet::new() };
    let relative = exclude.iter().filter_map(|path| {
        // Resolves the parent, because the file itself may not exist yet.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = parent.canonicalize().ok()?;
        Some(parent.strip_prefix(&dir).ok()?.join(path.file_name()?))
    });
    relative.collect()
}

struct Packer<'a, W: Write> {
    tar: Builder<ParallelGzip<DigestWriter<Capped<W>>>>,
    what: &'a str,
    options: &'a PackOptions,
    excluded: BTreeSet<PathBuf>,
    cancelled: &'a mut dyn FnMut() -> bool,
    entries: u64,
    skipped: Vec<Skipped>,
    skipped_total: u64,
    /// The canonical path of the directory, to check where links point.
    root: Option<PathBuf>,
    /// The first entries whose content is nowhere in the archive.
    lost: Vec<String>,
    lost_total: u64,
}

impl<W: Write> Packer<'_, W> {
    fn take(&mut self, met: WalkEntry<'_>) -> Result<(), PackError> {
        if (self.cancelled)() {
            return Err(PackError::Cancelled);
        }
        match met {
            WalkEntry::Skipped(Skipped {
                member,
                why:
                    SkipReason::Name(fault @ (NameFault::TooLong(_) | NameFault::ComponentTooLong | NameFault::TooDeep(_))),
            }) if self.options.is_result => Err(PackError::Name(member, fault)),
            WalkEntry::Skipped(Skipped { member, why }) => {
                if self.loses(&member, why) {
                    self.lost_total = self.lost_total.saturating_add(1);
                    if self.lost.len() < MAX_LOST_LISTED {
                        self.lost.push(format!("`{member}` ({why})"));
                    }
                }
                skip(&mut self.skipped, &mut self.skipped_total, member, why);
                Ok(())
            }
            WalkEntry::Dir { name, metadata } => {
                let header = header(EntryType::Directory, 0, 0o755, modified(&metadata));
                self.append(header, name, io::empty(), 0)
            }
            WalkEntry::File { name, .. } if self.leaves_out(Path::new(name.as_str())) => Ok(()),
            // A plugin's own file with this name is not such a list.
            WalkEntry::File { name, .. } if self.options.is_result && name.as_str() == LEFT_OUT_FILE => Ok(()),
            WalkEntry::File { name, file, metadata } => {
                let mode = if metadata.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 };
                let size = metadata.len();
                self.append(header(EntryType::Regular, size, mode, modified(&metadata)), name, file, size)
            }
        }
    }

    /// Returns whether the content of a skipped entry is nowhere in the archive under a name that
    /// the same formats read.
    fn loses(&self, shown: &str, why: SkipReason) -> bool {
        let is_packed = |root: &PathBuf| {
            root.join(shown).canonicalize().is_ok_and(|target| {
                let is_content = target.is_dir() || (target.is_file() && is_read_alike(Path::new(shown), &target));
                target.starts_with(root) && is_content
            })
        };
        match why {
            _ if self.leaves_out(Path::new(shown)) => false,
            // Sockets and devices do not contain results.
            SkipReason::Vanished | SkipReason::Socket | SkipReason::Device => false,
            SkipReason::Symlink => !self.root.as_ref().is_some_and(is_packed),
            _ => true,
        }
    }

    fn leaves_out(&self, name: &Path) -> bool {
        self.excluded.contains(name) || name.file_name().is_some_and(is_temporary)
    }

    fn append(&mut self, mut header: Header, name: &MemberName, file: impl Read, size: u64) -> Result<(), PackError> {
        let mut content = ExactReader::new(file, size, self.cancelled);
        let result = self.tar.append_data(&mut header, name.as_str(), &mut content);
        let member = || shown(name.as_str().as_bytes());
        match content.fault {
            Some(Fault::Cancelled) => return Err(PackError::Cancelled),
            Some(Fault::Shorter { got }) => return Err(PackError::Shrunk { member: member(), expected: size, got }),
            Some(Fault::Read(source)) => return Err(PackError::Read(member(), source)),
            None => result.map_err(|error| write_error(self.what, self.options, error))?,
        }
        self.entries += 1;
        Ok(())
    }

    /// Appends the member that lists the lost entries.
    fn list_lost(&mut self) -> Result<(), PackError> {
        if !self.options.is_result || self.lost_total == 0 {
            return Ok(());
        }
        let more = self.lost_total.saturating_sub(self.lost.len() as u64);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let text = format!("not in the results: {}{more}\n", self.lost.join(", "));
        let size = text.len() as u64;
        let name = MemberName::parse(LEFT_OUT_FILE.as_bytes(), &self.options.names)
            .map_err(|fault| PackError::Name(LEFT_OUT_FILE.into(), fault))?;
        self.append(header(EntryType::Regular, size, 0o644, 0), &name, text.as_bytes(), size)
    }

    fn finish(mut self) -> Result<(W, Packing), PackError> {
        self.list_lost()?;
        let Self { tar, what, options, entries, skipped, skipped_total, .. } = self;
        let hash = tar.into_inner().and_then(ParallelGzip::finish);
        let hash = hash.map_err(|error| write_error(what, options, error))?;
        let digest = Digest::of(&hash);
        Ok((hash.into_inner().out, Packing { digest, entries, skipped, skipped_total }))
    }
}

fn write_error(what: &str, options: &PackOptions, error: io::Error) -> PackError {
    match options.max_bytes {
        Some(limit) if error.get_ref().is_some_and(|inner| inner.is::<CapReached>()) => PackError::TooManyBytes(limit),
        _ => PackError::write(what, error),
    }
}

/// Returns the modification time in seconds since 1970. Earlier times become 0.
fn modified(metadata: &Metadata) -> u64 {
    let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_secs())
}

/// Returns the header of a member that belongs to nobody.
pub(crate) fn header(entry_type: EntryType, size: u64, mode: u32, mtime: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(entry_type);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(mtime);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Error while packing a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The directory could not be opened.
    #[error("failed to open directory `{0}`: {1}")]
    Open(PathBuf, #[source] io::Error),
    /// A file or directory inside could not be read. Paths in errors are relative to the directory,
    /// and cut.
    #[error("failed to read `{0}`: {1}")]
    Read(Printable, #[source] io::Error),
    /// A file became shorter while it was read, so its header is already wrong. Packing again may
    /// succeed.
    #[error("`{member}` became shorter while it was packed: {got} bytes instead of {expected}")]
    Shrunk {
        /// The path relative to the directory, cut.
        member: Printable,
        /// The size in bytes when it was opened.
        expected: u64,
        /// The number of bytes that were read.
        got: u64,
    },
    /// There are more files and directories than this limit.
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    /// The packed data takes more bytes than this limit.
    #[error("more than {0} bytes packed")]
    TooManyBytes(u64),
    /// A name is not valid in an upload.
    #[error("`{0}`: {1}")]
    Name(Printable, NameFault),
    /// The caller cancelled the operation.
    #[error("packing was cancelled")]
    Cancelled,
    /// The disk of this output is full.
    #[error("no space left for {0}: {1}")]
    Full(String, #[source] io::Error),
    /// The packed data could not be written to this output.
    #[error("failed to write {0}: {1}")]
    Write(String, #[source] io::Error),
}

impl PackError {
    fn write(what: &str, source: io::Error) -> Self {
        let what = what.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full(what, source)
            }
            _ => Self::Write(what, source),
        }
    }
}

impl From<WalkError> for PackError {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::TooManyEntries(limit) => Self::TooManyEntries(limit),
            WalkError::Read { shown, source } => Self::Read(shown, source),
        }
    }
}
