//! A directory, as a stream.

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
use crate::walk::{LeftOut, Met, WalkLimits, walk};

/// Lost entries that the list names.
const MAX_LOST_LISTED: usize = 10;

/// What a directory was packed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// Size and digest of the packed stream.
    pub digest: Digest,
    /// Files and directories in it.
    pub entries: u64,
    /// What was left out, the first [`MAX_SKIPPED_LISTED`].
    pub skipped: Vec<Skipped>,
    /// How many were left out.
    pub skipped_total: u64,
}

/// Packs what is in `dir` as a gzipped tar onto `out`, streaming, and gives `out` back, flushed.
///
/// * In order of names: a directory, then what is in it. Names are relative to `dir`, without `./` before or a slash after them.
///   The root itself is no member.
/// * Without temporary files of [`crate::atomic`]: a process that was killed left them behind.
/// * Regular files and directories only. Links, sockets, pipes, devices, and files whose name is not UTF-8 are left out and
///   reported; nothing leads out of `dir`. So are names over the limits, unless [`PackOptions::refuse_names`] makes them errors.
/// * Owner 0, no owner's names; directories have mode 0755, files 0644, or 0755 if their owner may execute them.
/// * A file is packed as long as it was when it was opened: what is appended meanwhile is not in the archive.
/// * Memory: the names of the directories on the way, and what [`ParallelGzip`] takes.
///
/// `cancelled` is asked before every entry and every few KiB.
///
/// # Errors
/// [`PackError`]. What was written to `out` by then is no whole archive, and every reader says so.
pub fn pack_directory<W: Write>(
    dir: &Path,
    out: W,
    options: &PackOptions,
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<(W, Packing), PackError> {
    pack_into(dir, out, "the packed data", options, cancelled)
}

/// [`pack_directory`] onto what errors call `what`.
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

/// Names of the excluded files that are below `dir`.
fn excluded(dir: &Path, exclude: &[PathBuf]) -> BTreeSet<PathBuf> {
    let Ok(dir) = dir.canonicalize() else { return BTreeSet::new() };
    let relative = exclude.iter().filter_map(|path| {
        // Its directory, not itself: it need not be there yet.
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
    /// The directory, to see where links lead.
    root: Option<PathBuf>,
    /// The first entries whose content is nowhere in the archive.
    lost: Vec<String>,
    lost_total: u64,
}

impl<W: Write> Packer<'_, W> {
    fn take(&mut self, met: Met<'_>) -> Result<(), PackError> {
        if (self.cancelled)() {
            return Err(PackError::Cancelled);
        }
        match met {
            Met::LeftOut {
                shown,
                why:
                    LeftOut::Name(fault @ (NameFault::TooLong(_) | NameFault::ComponentTooLong | NameFault::TooDeep(_))),
            } if self.options.refuse_names => Err(PackError::Name { member: shown, fault }),
            Met::LeftOut { shown, why } => {
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
            Met::Dir { name, metadata } => {
                let mut header = header(EntryType::Directory, 0, 0o755, self.mtime(&metadata));
                self.append(&mut header, name, io::empty(), 0)
            }
            Met::File { name, .. } if self.leaves_out(Path::new(name.as_str())) => Ok(()),
            // What a plugin wrote under this name lists nothing.
            Met::File { name, .. } if self.options.list_lost == Some(name.as_str()) => Ok(()),
            Met::File { name, file, metadata } => {
                let size = metadata.len();
                let mut header = header(EntryType::Regular, size, mode(&metadata), self.mtime(&metadata));
                self.append(&mut header, name, file, size)
            }
        }
    }

    /// Whether the content of an entry that is left out is nowhere in the archive.
    fn loses(&self, shown: &str, why: LeftOut) -> bool {
        let is_packed = |root: &PathBuf| {
            let target = root.join(shown).canonicalize();
            target.is_ok_and(|target| target.starts_with(root) && (target.is_file() || target.is_dir()))
        };
        match why {
            _ if self.leaves_out(Path::new(shown)) => false,
            // Neither a socket nor a device holds results.
            LeftOut::Vanished | LeftOut::Socket | LeftOut::Device => false,
            LeftOut::Symlink => !self.root.as_ref().is_some_and(is_packed),
            _ => true,
        }
    }

    /// Appends the member that lists what is lost.
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
            // What is older than 1970 is of 1970.
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

/// There is no such bit.
#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0o644
}
