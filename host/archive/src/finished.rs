//! Lists the finished archives in the directory of an aggregator, reads ranges of them, and packs
//! what a run in progress has gathered so far.
//!
//! The process that reads a range is started again for each one. The digest takes time to compute,
//! so it is cached in a side file.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use plumbline_core::text::Printable;
use serde::{Deserialize, Serialize};

use crate::atomic::write_atomic;
use crate::gzip::Digest;
use crate::layout::ARCHIVE_EXTENSION;
use crate::member::{COMPONENT_BYTES, shown};
use crate::pack::{PackError, PackOptions, pack_directory};

/// The maximum number of archives in one directory. Default 1,000: an aggregator writes one per
/// run, and its directory rarely outlives it.
pub const MAX_ARCHIVES: usize = 1000;

/// The maximum size in bytes of a side file, which has one line.
const MAX_SIDE_BYTES: u64 = 4096;

/// The prefix of working directories, which are next to the future archive.
const WORK_PREFIX: &str = ".plumbline-run-";

/// The directory inside a working directory that becomes the archive.
const TREE: &str = "tree";

/// A finished archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedArchive {
    /// The file name without directories.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 digest (FIPS 180-4): 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// The finished archives of a directory. An object, so that keys can be added later.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ArchiveList {
    /// The archives, ordered by name.
    pub archives: Vec<FinishedArchive>,
}

/// Error while listing or reading the archives of a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinishedError {
    /// The directory, or a file in it, could not be read.
    #[error("failed to read `{0}`: {1}")]
    Read(PathBuf, #[source] io::Error),
    /// An archive could not be read while it was sent with others.
    #[error("failed to read archive `{0}`: {1}")]
    ReadArchive(String, #[source] io::Error),
    /// There are more than [`MAX_ARCHIVES`] archives.
    #[error("more than {MAX_ARCHIVES} archives in `{}`", .0.display())]
    TooMany(PathBuf),
    /// The name is not that of a finished archive: it has directories, is hidden, or has another
    /// extension.
    #[error("invalid archive name `{0}`: expected a file name without directories that ends with `.tar.gz`")]
    Name(Printable),
    /// The archive changed while it was read, so it is still being written.
    #[error("archive `{}` is still being written: it changed while it was read", .0.display())]
    Changing(PathBuf),
    /// An archive changed its size while it was sent, so it is still being written. What was sent
    /// is an incomplete stream.
    #[error("archive `{name}` is still being written: it no longer has {expected} bytes")]
    Resized {
        /// The name of the archive.
        name: String,
        /// The size when it was opened.
        expected: u64,
    },
    /// The range starts after the end of the archive.
    #[error("offset {offset} is beyond the end of the archive `{}`, which has {size} bytes", path.display())]
    Beyond {
        /// The path of the archive.
        path: PathBuf,
        /// The size of the archive in bytes.
        size: u64,
        /// The start of the range.
        offset: u64,
    },
    /// Writing the bytes of an archive to the output failed.
    #[error("failed to send archive `{0}`: {1}")]
    Write(String, #[source] io::Error),
    /// Writing the stream of all archives failed.
    #[error("failed to send the archives: {0}")]
    WriteAll(#[source] io::Error),
    /// No run is in progress in the directory. A run removes its working directory once it has
    /// written its archive.
    #[error("no active run in `{}`", .0.display())]
    NoRun(PathBuf),
    /// The tree of a run in progress could not be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Returns whether `name` is that of a finished archive: a base name that is not hidden. Unfinished
/// archives have hidden names.
pub fn is_archive_name(name: &str) -> bool {
    name.ends_with(ARCHIVE_EXTENSION)
        && name.len() > ARCHIVE_EXTENSION.len()
        && name.len() <= COMPONENT_BYTES
        && is_plain(name)
}

/// Returns whether `name` is a visible file name without directories and control characters.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.chars().any(|c| matches!(c, '/' | '\\') || c.is_control())
}

/// Lists the finished archives in `dir`, ordered by name. Each archive is read once to compute its
/// digest, which is then cached next to it in a hidden file if the directory is writable. An archive
/// that is still being written is an error.
pub fn list_archives(dir: &Path) -> Result<ArchiveList, FinishedError> {
    let mut archives = Vec::new();
    for name in archive_names(dir)? {
        let (size, sha256) = digest(dir, &name)?;
        archives.push(FinishedArchive { name, size, sha256 });
    }
    Ok(ArchiveList { archives })
}

/// Copies up to `length` bytes of the archive `name` in `dir`, starting at `offset`, to `out`.
/// Returns the number of bytes copied, which is smaller at the end of the archive.
pub fn copy_piece(dir: &Path, name: &str, offset: u64, length: u64, out: &mut dyn Write) -> Result<u64, FinishedError> {
    if !is_archive_name(name) {
        return Err(FinishedError::Name(shown(name.as_bytes())));
    }
    let path = dir.join(name);
    let failed = |source| FinishedError::Read(path.clone(), source);
    let mut file = open(&path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    if offset > size {
        return Err(FinishedError::Beyond { path, size, offset });
    }
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut file = file.take(length);
    let mut chunk = vec![0; 64 << 10];
    let mut copied = 0;
    let passing = |source| FinishedError::Write(name.to_owned(), source);
    loop {
        let read = file.read(&mut chunk).map_err(failed)?;
        if read == 0 {
            break;
        }
        out.write_all(chunk.get(..read).unwrap_or_default()).map_err(passing)?;
        copied += read as u64;
    }
    out.flush().map_err(passing)?;
    Ok(copied)
}

/// Packs the tree of the run in progress in `dir` to `out`, streaming.
///
/// If there are several because a run was interrupted, the most recently changed one is packed.
/// Files that are written meanwhile may or may not be included. A file that becomes shorter while
/// it is packed is an error, and a retry helps.
///
/// # Errors
/// What was already written to `out` is an incomplete archive, which every reader reports.
pub fn snapshot(dir: &Path, out: impl Write) -> Result<(), FinishedError> {
    let failed = |source| FinishedError::Read(dir.to_owned(), source);
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let tree = entry.path().join(TREE);
        if !entry.file_name().to_string_lossy().starts_with(WORK_PREFIX) || !tree.is_dir() {
            continue;
        }
        // The status in the directory is replaced all the time, which changes its modification
        // time.
        let at = entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        if newest.as_ref().is_none_or(|(known, _)| at > *known) {
            newest = Some((at, tree));
        }
    }
    let (_, tree) = newest.ok_or_else(|| FinishedError::NoRun(dir.to_owned()))?;
    // This runs in the aggregator's pod, next to the aggregator, which needs its cores and memory.
    pack_directory(&tree, out, &PackOptions::single_threaded(), &mut || false)?;
    Ok(())
}

/// Returns the names of the archives in `dir` in order. Entries that are not regular files, or
/// whose name is not UTF-8, are left out.
pub(crate) fn archive_names(dir: &Path) -> Result<Vec<String>, FinishedError> {
    let failed = |source| FinishedError::Read(dir.to_owned(), source);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_archive_name(&name) && entry.file_type().map_err(failed)?.is_file() {
            names.push(name);
        }
        if names.len() > MAX_ARCHIVES {
            return Err(FinishedError::TooMany(dir.to_owned()));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Opens a regular file and nothing else, since a link could point anywhere.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Side {
    size: u64,
    modified: Timestamp,
    sha256: String,
}

fn digest(dir: &Path, name: &str) -> Result<(u64, String), FinishedError> {
    let path = dir.join(name);
    let failed = |source| FinishedError::Read(path.clone(), source);
    let file = open(&path).map_err(failed)?;
    let before = stamp(&file.metadata().map_err(failed)?).map_err(failed)?;
    let side = dir.join(format!(".{name}.sha256.json"));
    if let Some(known) = read_side(&side)
        && (known.size, known.modified) == before
    {
        return Ok((known.size, known.sha256));
    }
    let digest = Digest::of_reader(file).map_err(failed)?;
    let after = stamp(&fs::symlink_metadata(&path).map_err(failed)?).map_err(failed)?;
    if before != after || digest.bytes != before.0 {
        return Err(FinishedError::Changing(path));
    }
    let known = Side { size: before.0, modified: before.1, sha256: digest.sha256 };
    if let Ok(line) = serde_json::to_vec(&known) {
        // If the directory is not writable, the next caller only has to read the archive again.
        let _ = write_atomic(&side, &line);
    }
    Ok((known.size, known.sha256))
}

fn stamp(metadata: &Metadata) -> io::Result<(u64, Timestamp)> {
    let modified = Timestamp::try_from(metadata.modified()?).map_err(io::Error::other)?;
    Ok((metadata.len(), modified))
}

/// A side file that cannot be read counts as missing.
fn read_side(path: &Path) -> Option<Side> {
    let mut line = Vec::new();
    open(path).ok()?.take(MAX_SIDE_BYTES).read_to_end(&mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::extract::extract_tar_gz;
    use crate::member::ExtractLimits;

    fn write(dir: &Path, name: &str, data: &[u8]) {
        fs::write(dir.join(name), data).unwrap();
    }

    #[test]
    fn only_finished_archives_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "b.tar.gz", b"abc");
        write(dir.path(), "a.tar.gz", b"");
        write(dir.path(), ".plumbline-x.tar.gz", b"half");
        write(dir.path(), "other.txt", b"x");
        fs::create_dir(dir.path().join("dir.tar.gz")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link.tar.gz")).unwrap();
        let list = list_archives(dir.path()).unwrap();
        let names: Vec<_> = list.archives.iter().map(|archive| (archive.name.as_str(), archive.size)).collect();
        assert_eq!(names, [("a.tar.gz", 0), ("b.tar.gz", 3)]);
        // The first example of FIPS 180-4.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(list.archives[1].sha256, abc);
    }

    #[test]
    fn a_digest_is_kept_until_the_archive_changes() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a.tar.gz", b"abc");
        let first = list_archives(dir.path()).unwrap();
        let side = dir.path().join(".a.tar.gz.sha256.json");
        let mut known = read_side(&side).unwrap();
        known.sha256 = "kept".into();
        fs::write(&side, serde_json::to_vec(&known).unwrap()).unwrap();
        assert_eq!(list_archives(dir.path()).unwrap().archives[0].sha256, "kept");
        write(dir.path(), "a.tar.gz", b"abcd");
        let changed = list_archives(dir.path()).unwrap();
        assert_eq!(changed.archives[0].size, 4);
        assert_ne!(changed.archives[0].sha256, first.archives[0].sha256);
        fs::write(&side, "{").unwrap();
        assert_eq!(list_archives(dir.path()).unwrap(), changed, "a damaged side file is not an obstacle");
    }

    #[test]
    fn ranges_are_what_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a.tar.gz", b"0123456789");
        let piece = |offset, length| {
            let mut out = Vec::new();
            let copied = copy_piece(dir.path(), "a.tar.gz", offset, length, &mut out)?;
            assert_eq!(copied, out.len() as u64);
            Ok::<_, FinishedError>(String::from_utf8(out).unwrap())
        };
        assert_eq!(piece(0, 4).unwrap(), "0123");
        assert_eq!(piece(8, 4).unwrap(), "89");
        assert_eq!(piece(10, 4).unwrap(), "");
        assert_eq!(piece(2, u64::MAX).unwrap(), "23456789");
        assert!(matches!(piece(11, 1), Err(FinishedError::Beyond { size: 10, offset: 11, .. })));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{}.tar.gz", "x".repeat(250));
        for name in ["../a.tar.gz", "/a.tar.gz", "x/a.tar.gz", "..\\a.tar.gz", ".a.tar.gz", ".tar.gz", "a", &long] {
            let error = copy_piece(dir.path(), name, 0, 1, &mut Vec::new()).unwrap_err();
            assert!(matches!(error, FinishedError::Name(_)), "{name}: {error}");
        }
        assert!(is_archive_name("202611201300_plumbline_x.tar.gz"));
    }

    #[test]
    fn the_run_under_way_is_packed() {
        let (dir, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(matches!(snapshot(dir.path(), io::sink()), Err(FinishedError::NoRun(_))));
        for (name, text, age) in [(".plumbline-run-old", "old", 60), (".plumbline-run-new", "new", 0)] {
            let work = dir.path().join(name);
            fs::create_dir_all(work.join("tree/plugins")).unwrap();
            fs::write(work.join("tree/plugins/x"), text).unwrap();
            let at = SystemTime::now() - Duration::from_secs(age);
            File::open(&work).unwrap().set_modified(at).unwrap();
        }
        fs::create_dir_all(dir.path().join("other/tree")).unwrap();
        let mut out = Vec::new();
        snapshot(dir.path(), &mut out).unwrap();
        extract_tar_gz(&out[..], to.path(), &ExtractLimits::default()).unwrap();
        assert_eq!(fs::read_to_string(to.path().join("plugins/x")).unwrap(), "new");
    }
}
