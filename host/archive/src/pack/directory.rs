//! Packs a directory as a stream.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};
use tar::{Builder, EntryType, Header};

use super::content::{CapReached, Capped, Content};
use super::error::PackError;
use super::options::{MAX_SKIPPED_LISTED, PackOptions, Skipped};
use crate::atomic::is_temporary;
use crate::gzip::{Digest, ParallelGzip, Sha256Writer};
use crate::member::{MemberName, NameFault, shown};
use crate::walk::{SkipReason, WalkEntry, WalkLimits, walk};

/// The maximum number of lost entries that the list contains.
const MAX_LOST_LISTED: usize = 10;

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
///   exceed the limits are skipped too, unless [`PackOptions::refuse_names`] makes them errors.
/// * The owner is 0, without a name. Directories have mode 0755, and files 0644, or 0755 if their
///   owner may execute them.
/// * A file is packed with the size that it had when it was opened. Data appended meanwhile is not
///   in the archive.
/// * Memory is needed for the names of the directories on the current path, and for
///   [`ParallelGzip`].
///
/// `cancelled` is called before every entry and every few KiB.
///
/// # Errors
///
/// Returns a [`PackError`]. What was already written to `out` is then an incomplete archive, which
/// every reader reports.
pub fn pack_directory<W: Write>(
    dir: &Path,
    out: W,
    options: &PackOptions,
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<(W, Packing), PackError> {
    pack_into(dir, out, "the packed data", options, cancelled)
}

/// Packs like [`pack_directory`]. Errors refer to the output as `what`.
pub(super) fn pack_into<W: Write>(
    dir: &Path,
    out: W,
    what: &str,
    options: &PackOptions,
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<(W, Packing), PackError> {
    let root = Dir::open_ambient_dir(dir, ambient_authority())
        .map_err(|source| PackError::Open { dir: dir.to_owned(), source })?;
    let limits = WalkLimits { entries: options.entries, names: options.names };
    let out = Sha256Writer::new(Capped::new(out, options.max_bytes));
    let gzip = ParallelGzip::new(out, options.level, options.threads);
    let mut packer = Packer {
        tar: Builder::new(gzip),
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
    walk(&root, &limits, &mut |met| packer.take(met))?;
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
    tar: Builder<ParallelGzip<Sha256Writer<Capped<W>>>>,
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
            WalkEntry::SkipReason {
                shown,
                why:
                    SkipReason::Name(fault @ (NameFault::TooLong(_) | NameFault::ComponentTooLong | NameFault::TooDeep(_))),
            } if self.options.refuse_names => Err(PackError::Name { member: shown, fault }),
            WalkEntry::SkipReason { shown, why } => {
                self.skipped_total = self.skipped_total.saturating_add(1);
                if self.loses(&shown, why) {
                    self.lost_total = self.lost_total.saturating_add(1);
                    if self.lost.len() < MAX_LOST_LISTED {
                        self.lost.push(format!("`{shown}` ({why})"));
                    }
                }
                if self.skipped.len() < MAX_SKIPPED_LISTED {
                    self.skipped.push(Skipped { member: shown, why });
                }
                Ok(())
            }
            WalkEntry::Dir { name, metadata } => {
                let mut header = header(EntryType::Directory, 0, 0o755, self.mtime(&metadata));
                self.append(&mut header, name, io::empty(), 0)
            }
            WalkEntry::File { name, .. } if self.leaves_out(Path::new(name.as_str())) => Ok(()),
            // A plugin's own file with this name is not such a list.
            WalkEntry::File { name, .. } if self.options.list_lost == Some(name.as_str()) => Ok(()),
            WalkEntry::File { name, file, metadata } => {
                let size = metadata.len();
                let mut header = header(EntryType::Regular, size, mode(&metadata), self.mtime(&metadata));
                self.append(&mut header, name, file, size)
            }
        }
    }

    /// Returns whether the content of a skipped entry is nowhere in the archive.
    fn loses(&self, shown: &str, why: SkipReason) -> bool {
        let is_packed = |root: &PathBuf| {
            let target = root.join(shown).canonicalize();
            target.is_ok_and(|target| target.starts_with(root) && (target.is_file() || target.is_dir()))
        };
        match why {
            _ if self.leaves_out(Path::new(shown)) => false,
            // Sockets and devices do not contain results.
            SkipReason::Vanished | SkipReason::Socket | SkipReason::Device => false,
            SkipReason::Symlink => !self.root.as_ref().is_some_and(is_packed),
            _ => true,
        }
    }

    /// Appends the member that lists the lost entries.
    fn list_lost(&mut self) -> Result<(), PackError> {
        let Some(name) = self.options.list_lost.filter(|_| self.lost_total > 0) else { return Ok(()) };
        let more = self.lost_total.saturating_sub(self.lost.len() as u64);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let text = format!("not in the results: {}{more}\n", self.lost.join(", "));
        let size = text.len() as u64;
        let name = MemberName::parse(name.as_bytes(), &self.options.names)
            .map_err(|fault| PackError::Name { member: name.to_owned(), fault })?;
        let mut header = header(EntryType::Regular, size, 0o644, self.options.mtime.unwrap_or_default());
        self.append(&mut header, &name, text.as_bytes(), size)
    }

    fn leaves_out(&self, name: &Path) -> bool {
        self.excluded.contains(name) || name.file_name().is_some_and(is_temporary)
    }

    fn append(
        &mut self,
        header: &mut Header,
        name: &MemberName,
        file: impl io::Read,
        size: u64,
    ) -> Result<(), PackError> {
        let shown = shown(name.as_str().as_bytes());
        let mut content = Content::new(file, size, &shown, self.cancelled);
        let result = self.tar.append_data(header, name.as_str(), &mut content);
        match (result, content.into_fault()) {
            (_, Some(fault)) => Err(fault),
            (Err(error), None) => Err(self.write_error(error)),
            (Ok(()), None) => {
                self.entries += 1;
                Ok(())
            }
        }
    }

    fn mtime(&self, metadata: &Metadata) -> u64 {
        self.options.mtime.unwrap_or_else(|| {
            let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
            // Times before 1970 become 1970.
            modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_secs())
        })
    }

    fn write_error(&self, error: io::Error) -> PackError {
        write_error(self.what, self.options, error)
    }

    fn finish(mut self) -> Result<(W, Packing), PackError> {
        self.list_lost()?;
        let Self { tar, what, options, entries, skipped, skipped_total, .. } = self;
        let gzip = tar.into_inner().map_err(|error| write_error(what, options, error))?;
        let hash = gzip.finish().map_err(|error| write_error(what, options, error))?;
        let (capped, digest) = hash.finish();
        Ok((capped.into_inner(), Packing { digest, entries, skipped, skipped_total }))
    }
}

fn write_error(what: &str, options: &PackOptions, error: io::Error) -> PackError {
    match options.max_bytes {
        Some(limit) if error.get_ref().is_some_and(|inner| inner.is::<CapReached>()) => PackError::TooManyBytes(limit),
        _ => PackError::write(what, error),
    }
}

fn header(entry_type: EntryType, size: u64, mode: u32, mtime: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(entry_type);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(mtime);
    header.set_uid(0);
    header.set_gid(0);
    header
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    use cap_std::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 }
}

/// Other systems have no executable bit.
#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0o644
}
