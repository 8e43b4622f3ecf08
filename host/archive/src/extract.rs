//! Unpacks an uploaded `.tar.gz` to disk.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, OpenOptions, OpenOptionsExt};
use plumbline_core::text::Printable;

use crate::atomic::is_temporary;
use crate::disk::{Disk, ENTRY_BYTES, is_full};
use crate::member::SkipReason;
pub use crate::member::{ExtractLimits, MAX_SKIPPED_LISTED, Skipped};
use crate::member::{Kind, Member, MemberName, NameFault, StreamError, each_member, is_read_alike, shown, skip};

/// The outcome of unpacking an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extracted {
    /// The number of files written. A file that occurs twice counts twice.
    pub files: u64,
    /// The number of directory members, without directories that only occur in names of files.
    pub dirs: u64,
    /// The number of files and directories written, including directories that only occur in names
    /// of files.
    pub entries: u64,
    /// The number of bytes written.
    pub bytes: u64,
    /// The first [`MAX_SKIPPED_LISTED`] skipped members.
    pub skipped: Vec<Skipped>,
    /// The number of skipped members.
    pub skipped_total: u64,
    /// The first [`MAX_SKIPPED_LISTED`] skipped members whose content is not in the archive under
    /// another name that the same formats read. A symbolic link loses nothing if it leads to a
    /// directory of the archive, or to a file with the same extension or name.
    pub lost: Vec<Skipped>,
    /// The number of those members.
    pub lost_total: u64,
    devices: u64,
    /// The number of bytes after the end of the archive that are not padding. They are not part of
    /// the archive and not unpacked. The count lets a sender notice that it appended one archive to
    /// another.
    pub trailing: u64,
}

/// Unpacks a gzipped tar archive (POSIX ustar and pax, GNU) from `reader` into the existing
/// directory `dest`, streaming.
///
/// * Regular files and directories are written. Files get mode 0644, or 0755 if anyone may execute
///   them, and directories 0755, under the umask. Owners, times and attributes are those of new
///   files. Missing parents are created.
/// * Symbolic and hard links, devices, named pipes and sparse files are skipped and reported in
///   [`Extracted::skipped`]. Real results occasionally contain links, and losing a link is better
///   than losing the results.
/// * A name that is absolute, contains `..` or a NUL byte, is not UTF-8, or exceeds the limits
///   makes the whole archive invalid. So does a member whose path is taken by something of another
///   kind. A file that occurs twice is replaced, as in tar.
/// * A truncated archive or gzip stream is an error: the end marker, and the checksum and length of
///   gzip, must be there. Several consecutive gzip members form one stream. Data after the end is
///   read and counted ([`Extracted::trailing`]), but not unpacked.
/// * Memory does not depend on the archive: two buffers of 64 KiB, the gzip window, and at most 1
///   MiB of headers.
///
/// The caller passes a new directory and renames it into place afterwards. Existing files in `dest`
/// are protected only as follows: no link is followed, and no file outside of `dest` is touched.
/// This holds even if another process writes to `dest` meanwhile.
///
/// # Errors
/// [`ExtractError::blame`] says who is responsible. Files that were already written stay in `dest`.
pub fn extract_tar_gz(reader: impl Read, dest: &Path, limits: &ExtractLimits) -> Result<Extracted, ExtractError> {
    extract_tar_gz_on(&Disk::default(), reader, dest, limits)
}

/// Unpacks an archive like [`extract_tar_gz`], as far as the guard of `disk` allows. Faults of
/// `disk` do not apply.
///
/// If the disk is full, the rest of the archive is checked without being written. If it is damaged
/// or above a limit, that is the error, because more space would not help.
pub fn extract_tar_gz_on(
    disk: &Disk,
    reader: impl Read,
    dest: &Path,
    limits: &ExtractLimits,
) -> Result<Extracted, ExtractError> {
    let mut sink = Sink::open(disk, dest)?;
    let mut extracted = Extracted::default();
    let mut links = Vec::new();
    let (mut entries, mut bytes) = (0_u64, 0_u64);
    let mut full = None;
    let seen = each_member(reader, limits, false, |member| -> Result<_, ExtractError> {
        let name = member.name.clone();
        let name = name.map_err(|why| ExtractError::Hostile { member: member.shown.clone(), why: why.into() })?;
        if let Kind::File { .. } | Kind::Dir = member.kind {
            entries = entries.saturating_add(1);
            bytes = bytes.saturating_add(member.size);
        }
        if full.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        match member.target.take() {
            Some(target) if links.len() < MAX_LINKS => links.push((member.shown.clone(), name.clone(), target)),
            _ => {}
        }
        match extracted.take(member, &name, &mut sink) {
            Err(ExtractError::Write(member, source)) if is_full(&source) => full = Some((member, source)),
            taken => taken?,
        }
        if extracted.files.saturating_add(sink.directories) > limits.entries {
            return Err(StreamError::TooManyEntries(limits.entries).into());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some((member, source)) = full {
        return Err(ExtractError::NoSpace { member, entries, bytes, source });
    }
    extracted.entries = extracted.files.saturating_add(sink.directories);
    extracted.trailing = seen.trailing;
    // As in packing, a device has no content to lose.
    extracted.lost_total = extracted.skipped_total.saturating_sub(extracted.devices);
    extracted.lost = extracted.skipped.iter().filter(|member| member.why != SkipReason::Device).cloned().collect();
    for (shown, link, target) in links {
        if sink.has(&link, &target) {
            extracted.lost_total = extracted.lost_total.saturating_sub(1);
            extracted.lost.retain(|lost| lost.member != shown || lost.why != SkipReason::Symlink);
        }
    }
    Ok(extracted)
}

/// The maximum number of symbolic links whose targets are looked up. Further ones count as lost.
const MAX_LINKS: usize = 10_000;

impl Extracted {
    /// Writes `member` under `name`, or skips it.
    fn take(&mut self, member: &mut Member<'_>, name: &MemberName, sink: &mut Sink) -> Result<(), ExtractError> {
        match member.kind {
            Kind::Dir => {
                sink.enter(name.as_str(), name)?;
                self.dirs += 1;
            }
            // The final archive would leave it out, as the file of a killed process.
            Kind::File { .. } if is_reserved(name) => {
                skip(&mut self.skipped, &mut self.skipped_total, member.shown.clone(), SkipReason::Reserved);
            }
            Kind::File { executable } => {
                let mut file = sink.file(name, executable)?;
                let mut write = |data: &[u8]| sink.disk.take_space(data.len() as u64, || file.write_all(data));
                member.copy_to(|data| write(data).map_err(|source| write_error(name, source)))?;
                self.files += 1;
                self.bytes += member.size;
            }
            Kind::Skip(why) => {
                self.devices += u64::from(why == SkipReason::Device);
                skip(&mut self.skipped, &mut self.skipped_total, member.shown.clone(), why);
            }
            Kind::Note => {}
        }
        Ok(())
    }
}

fn is_reserved(name: &MemberName) -> bool {
    name.as_str().rsplit('/').next().is_some_and(|base| is_temporary(base.as_ref()))
}

/// Creates files and directories inside one directory, whatever their names are.
///
/// Each step opens one component relative to the directory before it, and no step follows a link. A
/// link in the way is a conflict, wherever it points. This type never creates links, so any link
/// was put there by someone else.
pub(crate) struct Sink {
    /// Only its guard applies.
    disk: Disk,
    root: Dir,
    /// The directory of the previous member, cached because consecutive members share directories.
    at: Option<(String, Dir)>,
    /// The number of created directories, including those that only occur in names of files.
    directories: u64,
}

impl Sink {
    pub(crate) fn open(disk: &Disk, dest: &Path) -> Result<Self, ExtractError> {
        let root = Dir::open_ambient_dir(dest, ambient_authority())
            .map_err(|source| ExtractError::Open(dest.to_owned(), source))?;
        Ok(Self { disk: disk.clone(), root, at: None, directories: 0 })
    }

    /// Returns whether `target`, relative to the directory of the member `link`, was written here: a
    /// directory, or a file that the same formats read.
    fn has(&self, link: &MemberName, target: &[u8]) -> bool {
        let Ok(target) = std::str::from_utf8(target) else { return false };
        let Some(path) = link_path(link.as_str(), target) else { return false };
        let stands_for = |found: Metadata| {
            found.is_dir() || (found.is_file() && is_read_alike(Path::new(link.as_str()), Path::new(&path)))
        };
        self.root.symlink_metadata(&path).is_ok_and(stands_for)
    }

    /// Creates a file to write to. An existing file with the same name is replaced: as in tar, the
    /// last member with a name wins.
    pub(crate) fn file(&mut self, name: &MemberName, executable: bool) -> Result<File, ExtractError> {
        let Some((parent, base)) = name.split() else {
            return Err(ExtractError::Hostile { member: shown(name.as_str().as_bytes()), why: MemberError::Unnamed });
        };
        self.enter(parent, name)?;
        let dir = self.at.as_ref().map_or(&self.root, |(_, dir)| dir);
        let mut options = OpenOptions::new();
        // Results are readable by all users, and never set-uid, set-gid or sticky. Exclusive
        // creation does not follow links either.
        options.write(true).create_new(true).mode(if executable { 0o755 } else { 0o644 });
        let file = match self.disk.take_space(ENTRY_BYTES, || dir.open_with(base, &options)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = dir.symlink_metadata(base).map_err(|source| write_error(name, source))?;
                if !there.is_file() {
                    return Err(conflict(name));
                }
                dir.remove_file(base).and_then(|()| dir.open_with(base, &options))
            }
            result => result,
        };
        file.map(cap_std::fs::File::into_std).map_err(|source| write_error(name, source))
    }

    /// Makes `path` the current directory and creates its missing parts. Errors refer to the member
    /// `name`.
    fn enter(&mut self, path: &str, name: &MemberName) -> Result<(), ExtractError> {
        if self.at.as_ref().is_some_and(|(at, _)| at == path) {
            return Ok(());
        }
        let failed = |source| write_error(name, source);
        let mut builder = DirBuilder::new();
        builder.mode(0o755);
        let mut dir = self.root.try_clone().map_err(failed)?;
        for component in path.split('/').filter(|component| !component.is_empty()) {
            match self.disk.take_space(ENTRY_BYTES, || dir.create_dir_with(component, &builder)) {
                Ok(()) => self.directories += 1,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !dir.symlink_metadata(component).map_err(failed)?.is_dir() {
                        return Err(conflict(name));
                    }
                }
                Err(source) => return Err(failed(source)),
            }
            dir = dir.open_dir(component).map_err(failed)?;
        }
        self.at = Some((path.to_owned(), dir));
        Ok(())
    }
}

/// Returns the path to which the symbolic link at the path `link` leads. `None` if it leads to the root, or
/// out of it.
pub(crate) fn link_path(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let parent = link.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut path: Vec<&str> = parent.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop()?;
            }
            part => path.push(part),
        }
    }
    if path.is_empty() { None } else { Some(path.join("/")) }
}

fn conflict(name: &MemberName) -> ExtractError {
    ExtractError::Hostile { member: shown(name.as_str().as_bytes()), why: MemberError::Conflict }
}

pub(crate) fn write_error(name: &MemberName, source: io::Error) -> ExtractError {
    ExtractError::Write(shown(name.as_str().as_bytes()), source)
}

/// What makes a member unacceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The name is invalid or unsafe.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// A file without a name of its own.
    #[error("a file without a name")]
    Unnamed,
    /// The path is taken by something of another kind: a directory, a parent that is a file, or
    /// something that is not unpacked.
    #[error("its path conflicts with an entry of another type")]
    Conflict,
}

/// Error while unpacking an archive. Files that were already written stay, so the caller unpacks
/// into a separate directory and removes it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// A member would be written outside of the directory, or in place of another. The whole
    /// archive is rejected, because its other members are not trustworthy either.
    #[error("member `{member}` is not allowed: {why}")]
    Hostile {
        /// The name of the member, cut.
        member: Printable,
        /// What is wrong with it.
        why: MemberError,
    },
    /// The stream is damaged, truncated, or exceeds the limits.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The destination directory could not be opened.
    #[error("failed to open directory `{0}`: {1}")]
    Open(PathBuf, #[source] io::Error),
    /// A member could not be written.
    #[error("failed to write member `{0}`: {1}")]
    Write(Printable, #[source] io::Error),
    /// The disk is full. The rest of the archive was checked, and is within the limits.
    #[error("no space to write member `{member}` of an archive that unpacks to {bytes} bytes: {source}")]
    NoSpace {
        /// The name of the member, cut.
        member: Printable,
        /// The number of files and directories in the whole archive, without directories that only
        /// occur in names of files.
        entries: u64,
        /// The total size of the files in the whole archive, in bytes.
        bytes: u64,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// Who is responsible for an error, which determines the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The archive is invalid, and sending it again does not help (HTTP 400).
    Archive,
    /// The archive exceeds the limits (HTTP 413).
    Size,
    /// The archive did not arrive completely. A retry may succeed.
    Transport,
    /// This machine failed to write the archive (HTTP 500).
    Host,
}

impl ExtractError {
    /// Returns who is responsible for the error.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Open(..) | Self::Write(..) | Self::NoSpace { .. } => Blame::Host,
            Self::Stream(StreamError::Source(_)) => Blame::Transport,
            Self::Stream(
                StreamError::TooManyEntries(_) | StreamError::TooManyBytes(_) | StreamError::TooManyNameBytes(_),
            ) => Blame::Size,
            Self::Hostile { .. } | Self::Stream(_) => Blame::Archive,
        }
    }
}
