//! The archive of a run. A complete one that a crash left is recorded if it shows the outcome that
//! this process computed, because somebody may have read it. Otherwise it gets another name.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::parent_directory;
use plumbline_archive::disk::Disk;
use plumbline_archive::gzip::Digest;
use plumbline_archive::layout::{PLUGINS_DIR, TREE_FILE, VERDICT_FILE};
use plumbline_archive::member::StreamError;
use plumbline_archive::pack::{PackOptions, write_archive};
use plumbline_archive::results::{ReadError, ReadLimits, ResultsArchive};
use plumbline_core::{Digest as Digest256, RunId, Status};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::blocking::with_space;
use super::settings::RunError;
use crate::postprocess::{no_details, read_items_with};
use crate::reserve::Reserve;
use crate::workdir::WorkDir;

/// Appended to the name of a file in the place of the archive that the archive replaces.
const REPLACED: &str = ".replaced";
/// Maximum number of such files. There is one per crash at most.
const MAX_REPLACED: usize = 1000;
/// Maximum length of a name that is compared, in bytes. Longer ones count as equal.
const NAME_BYTES: usize = 64 << 10;

/// Writes the tree in `work` to the archive `path`, unless the archive of `run` is there already.
/// Returns its size and digest. Waits for space on a full disk.
pub(super) async fn archive(
    work: &WorkDir,
    path: &Path,
    run: RunId,
    reserve: &Reserve,
    cancel: &CancellationToken,
) -> Result<Digest, RunError> {
    let (disk, tree, path) = (work.disk().clone(), work.tree(), path.to_owned());
    with_space("write the archive", reserve, cancel, move || match finished(&disk, &path, &tree, &run)? {
        Some(digest) => Ok(digest),
        None => pack(&disk, &tree, &path),
    })
    .await
}

fn pack(disk: &Disk, tree: &Path, path: &Path) -> Result<Digest, RunError> {
    let options = PackOptions { disk: disk.clone(), ..PackOptions::default() };
    let packed = write_archive(tree, path, &options).map_err(RunError::Archive)?;
    for skipped in &packed.skipped {
        tracing::warn!("not in the archive: {skipped}");
    }
    Ok(packed.digest)
}

/// Returns the size and digest of the archive of `run` at `path`, if it has the outcome of `tree`.
/// Anything else is moved to another name.
fn finished(disk: &Disk, path: &Path, tree: &Path, run: &RunId) -> Result<Option<Digest>, RunError> {
    let failed = |source| RunError::Io { what: format!("read the archive `{}`", path.display()), source };
    // Both are on one file system, which can map users.
    let owner = fs::metadata(tree).map_err(RunError::io(format!("read the directory `{}`", tree.display())))?.uid();
    let reason = match inspect(path, tree, run, owner) {
        Ok(None) => return Ok(None),
        Ok(Some(digest)) => {
            // The crash may have been before its name was durable.
            disk.sync_directory(parent_directory(path)).map_err(failed)?;
            tracing::info!("the archive `{}` was complete before a restart", path.display());
            return Ok(Some(digest));
        }
        Err(Rejection::Disk(source)) => return Err(failed(source)),
        Err(Rejection::Other(reason)) => reason,
    };
    let moved = unused_name(path).and_then(|aside| {
        tracing::warn!("moving `{}` to `{}`: {reason}", path.display(), aside.display());
        disk.rename(path, &aside)
    });
    moved.map_err(RunError::io(format!("move `{}`, which is not the archive of this run", path.display())))?;
    Ok(None)
}

/// Returns the first name for a file in the place of the archive that is not in use.
fn unused_name(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=MAX_REPLACED {
        let mut name = OsString::from(path);
        name.push(REPLACED);
        if number > 1 {
            name.push(format!(".{number}"));
        }
        match fs::symlink_metadata(&name) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(name.into()),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("more than {MAX_REPLACED} such files")))
}

/// Why a file in the place of the archive is not recorded.
#[derive(Debug)]
enum Rejection {
    /// It could not be read. This says nothing about the file.
    Disk(io::Error),
    /// It is not the archive of this run, for this reason.
    Other(String),
}

impl From<io::Error> for Rejection {
    fn from(source: io::Error) -> Self {
        Self::Disk(source)
    }
}

impl From<ReadError> for Rejection {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Open(_, source) | ReadError::Stream { source: StreamError::Source(source), .. } => {
                Self::Disk(source)
            }
            ReadError::File(_, source)
                if !matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
            {
                Self::Disk(source)
            }
            damaged => Self::Other(damaged.to_string()),
        }
    }
}

/// Returns why a file that could not be opened is not recorded.
fn not_opened(error: Errno) -> Rejection {
    match error {
        // A symbolic link has replaced the file that was there a moment ago.
        Errno::LOOP => Rejection::Other("it is not a regular file".to_owned()),
        Errno::ACCESS => Rejection::Other("this user has no permission to read it".to_owned()),
        error => Rejection::Disk(error.into()),
    }
}

/// Returns the size and digest of the archive of `run` at `path`, if something is there. It must be
/// a file of `owner` with the outcome of `tree`.
fn inspect(path: &Path, tree: &Path, run: &RunId, owner: u32) -> Result<Option<Digest>, Rejection> {
    let other = |reason: &str| Err(Rejection::Other(reason.to_owned()));
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => return other("it is not a regular file"),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    // Whatever somebody else does at the path, this file is checked, compared and recorded.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(open(path, flags, Mode::empty()).map_err(not_opened)?);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != owner {
        return other("it belongs to another user");
    }
    // A run can have any size that it could pack.
    let limits = ReadLimits { unpacked_bytes: u64::MAX, ..ReadLimits::default() };
    let mut archive = ResultsArchive::of_file(file.try_clone()?, path, &limits)?;
    if archive.info().run.as_deref() != Some(run.to_string().as_str()) {
        return other("it is the archive of another run");
    }
    if !has_outcome(&mut archive, tree)? {
        return other("its result trees or verdicts differ from those of the continued run");
    }
    drop(archive);
    file.rewind()?;
    Ok(Some(Digest::of_reader(file)?))
}

/// Returns whether the archive has the verdicts and the items of the result trees in `tree`.
///
/// A continued run makes the trees again, with other details ([`TreeItems`]), and keeps verdicts.
fn has_outcome(archive: &mut ResultsArchive, tree: &Path) -> Result<bool, Rejection> {
    let packed: BTreeSet<String> =
        archive.files().map(|(name, _)| name).filter(|name| is_outcome(name)).map(str::to_owned).collect();
    if packed != outcome_files(tree)? {
        return Ok(false);
    }
    let mut same = true;
    archive.visit(&mut |name, _| packed.contains(name), &mut |name, reader| {
        let (packed, computed) = (BufReader::new(reader), BufReader::new(File::open(tree.join(name))?));
        same = if name.ends_with(TREE_FILE) {
            TreeItems::read(packed)? == TreeItems::read(computed)?
        } else {
            is_equal(packed, computed)?
        };
        Ok(if same { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(same)
}

fn is_outcome(name: &str) -> bool {
    let below = name.strip_prefix(PLUGINS_DIR).and_then(|name| name.strip_prefix('/')?.split_once('/'));
    below.is_some_and(|(_, file)| file == TREE_FILE || file == VERDICT_FILE)
}

/// Returns the names of the result trees and verdicts in `tree`.
fn outcome_files(tree: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let plugins = match fs::read_dir(tree.join(PLUGINS_DIR)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        plugins => plugins?,
    };
    for plugin in plugins {
        let plugin = plugin?.file_name();
        for file in [TREE_FILE, VERDICT_FILE] {
            let name = format!("{PLUGINS_DIR}/{}/{file}", plugin.display());
            match fs::symlink_metadata(tree.join(&name)) {
                Ok(_) => drop(names.insert(name)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(names)
}

/// The items of a result tree: their names, with those of their ancestors, and their statuses.
///
/// Their order, metadata and details do not count: modules have a clock and random numbers.
#[derive(Default, PartialEq, Eq)]
struct TreeItems {
    number: u64,
    /// The sum of their digests.
    sum: u128,
}

impl TreeItems {
    fn read(tree: impl BufRead) -> io::Result<Self> {
        let digest = |parent: Option<&Digest256>, text: &str| {
            let parent = parent.map_or(b"".as_slice(), |parent| parent.as_bytes().as_slice());
            Digest256::of(&[parent, text.as_bytes()].concat())
        };
        let mut items = Self::default();
        // The digests of the names of the last item and its ancestors.
        let mut path: Vec<Digest256> = Vec::new();
        read_items_with(tree, NAME_BYTES, no_details, |item| {
            path.truncate(usize::try_from(item.depth).unwrap_or(usize::MAX));
            path.push(digest(path.last(), &item.name));
            let status = item.status.as_ref().map_or("", Status::as_str);
            let whole = digest(path.last(), status);
            let number = whole.as_bytes().first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            items.sum = items.sum.wrapping_add(number);
            items.number += 1;
            Ok(())
        })?;
        Ok(items)
    }
}

fn is_equal(mut one: impl BufRead, mut other: impl BufRead) -> io::Result<bool> {
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let both = left.len().min(right.len());
        if both == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        if left.get(..both) != right.get(..both) {
            return Ok(false);
        }
        one.consume(both);
        other.consume(both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_of_another_user_is_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, path) = (dir.path().join("tree"), dir.path().join("archive.tar.gz"));
        let run: RunId = "0b9d2b5e-0c40-4b6b-9d5a-0a1f4f2a7c11".parse().unwrap();
        fs::create_dir_all(tree.join("meta")).unwrap();
        fs::write(tree.join("meta/config.json"), format!("{{\"UUID\": \"{run}\"}}")).unwrap();
        fs::create_dir_all(tree.join("plugins/p")).unwrap();
        fs::write(tree.join("plugins/p").join(TREE_FILE), "name: p\nstatus: passed\n").unwrap();
        write_archive(&tree, &path, &PackOptions::default()).unwrap();

        let owner = fs::metadata(&tree).unwrap().uid();
        let digest = inspect(&path, &tree, &run, owner).unwrap().unwrap();
        assert_eq!(digest.bytes, fs::metadata(&path).unwrap().len());
        let Err(Rejection::Other(reason)) = inspect(&path, &tree, &run, owner + 1) else { panic!("it is recorded") };
        assert_eq!(reason, "it belongs to another user");
    }

    #[test]
    fn a_disk_that_fails_says_nothing_about_the_archive() {
        let read = |kind: io::ErrorKind| Rejection::from(ReadError::File("meta/config.json".to_owned(), kind.into()));
        for kind in [io::ErrorKind::StaleNetworkFileHandle, io::ErrorKind::TimedOut, io::ErrorKind::Other] {
            assert!(matches!(read(kind), Rejection::Disk(_)), "{kind}");
        }
        for kind in [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof] {
            assert!(matches!(read(kind), Rejection::Other(_)), "{kind}");
        }
    }

    #[test]
    fn a_file_that_may_not_be_opened_is_another_file() {
        for error in [Errno::LOOP, Errno::ACCESS] {
            assert!(matches!(not_opened(error), Rejection::Other(_)), "{error}");
        }
        for error in [Errno::IO, Errno::STALE, Errno::MFILE] {
            assert!(matches!(not_opened(error), Rejection::Disk(_)), "{error}");
        }
    }

    #[test]
    fn long_files_are_compared_to_their_end() {
        let long = vec![7_u8; 100_000];
        let other = [&long[..99_999], &[8_u8]].concat();
        let equal = |one: &[u8], other: &[u8]| is_equal(BufReader::with_capacity(1_000, one), other).unwrap();
        assert!(equal(&long, &long) && equal(&[], &[]));
        assert!(!equal(&long, &other) && !equal(&long, &long[..99_999]) && !equal(&[], &long));
    }
}
