//! The tar of a bundle, onto disk: whole, or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use plumbline_core::definition::{Definition, MAX_YAML_BYTES};

use crate::digest::Digest;
use crate::name::{EntryFault, shown};
use crate::selection::{DEFINITION_FILES, Selection};
use crate::unpack_error::UnpackError;
use crate::ustar::Reader;

/// How the names of directories under way begin. A process that is killed leaves its own behind; this is how a person recognises it.
pub(crate) const TEMPORARY_PREFIX: &str = ".plumbline-";

/// Whether what was unpacked may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// By its owner.
    Writable,
    /// By nobody: files are 0444 and 0555. Directories stay writable, so that it can be removed as any other.
    ReadOnly,
}

/// Unpacks the tar of a bundle from `tar` into the directory `into`, which must not exist, and gives the tar's digest.
///
/// Only what [`Bundle::pack`](crate::Bundle::pack) writes is taken, byte for byte, so that a bundle has one digest and means the same to
/// every program: no links, devices, directories, extended headers, owners or times; files sorted and once; names relative and plain;
/// nothing behind the end; within the [limits](crate::limits). `plugin.yaml` must be a definition, and every file must be one that a bundle
/// with this definition holds. Modules are not looked at: [`Bundle::open`](crate::Bundle::open) does that.
///
/// All happens in a new directory beside `into`, which is synced and renamed at the end. Modes do not depend on the umask: 0644, or 0755
/// for what may be executed.
///
/// # Errors
/// [`UnpackError`]; nothing is left of it then.
pub fn unpack(tar: impl Read, into: &Path) -> Result<Digest, UnpackError> {
    unpack_as(tar, into, None, Access::Writable)
}

/// The same, for a tar that must have the digest `expected`: any other is refused.
///
/// # Errors
/// [`UnpackError`], also [`UnpackError::Digest`].
pub fn unpack_verified(tar: impl Read, into: &Path, expected: &Digest) -> Result<(), UnpackError> {
    unpack_as(tar, into, Some(expected), Access::Writable).map(drop)
}

pub(crate) fn unpack_as(
    tar: impl Read,
    into: &Path,
    expected: Option<&Digest>,
    access: Access,
) -> Result<Digest, UnpackError> {
    if fs::symlink_metadata(into).is_ok() {
        return Err(UnpackError::Exists(into.to_owned()));
    }
    let parent = match into.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let staging = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(parent);
    let staging = staging.map_err(|source| UnpackError::Write { path: parent.to_owned(), source })?;
    let mut reader = Reader::new(tar);
    let mut sink = Sink { root: staging.path(), dirs: BTreeSet::new(), access };
    while let Some(header) = reader.next()? {
        let (path, mut file) = sink.create(&header.name, header.executable)?;
        let failed = |source| UnpackError::Write { path: path.clone(), source };
        reader.content(&header.name, |piece| file.write_all(piece).map_err(failed))?;
        file.sync_all().map_err(failed)?;
    }
    let digest = reader.digest();
    if let Some(expected) = expected.filter(|&expected| *expected != digest) {
        return Err(UnpackError::Digest { expected: *expected, actual: digest });
    }
    check_files(staging.path(), reader.files())?;
    sink.finish()?;

    let failed = |source| UnpackError::Write { path: into.to_owned(), source };
    fs::rename(staging.path(), into).map_err(failed)?;
    // Nothing is at its old place that could be removed.
    let _ = staging.keep();
    sync_directory(parent).map_err(failed)?;
    Ok(digest)
}

/// Whether these are the files of a bundle.
fn check_files(root: &Path, files: &BTreeSet<String>) -> Result<(), UnpackError> {
    let name = DEFINITION_FILES.into_iter().find(|name| files.contains(*name)).ok_or(UnpackError::NoDefinition)?;
    let mut text = Vec::new();
    let file = File::open(root.join(name)).map_err(UnpackError::Source)?;
    file.take(MAX_YAML_BYTES as u64 + 1).read_to_end(&mut text).map_err(UnpackError::Source)?;
    let definition = Definition::parse_bytes(&text).map_err(UnpackError::Definition)?.definition;
    let selection = Selection::of(name, &definition).map_err(UnpackError::Pattern)?;
    match files.iter().find(|file| !selection.takes(file)) {
        Some(other) => Err(UnpackError::Refused { entry: shown(other.as_bytes()), why: EntryFault::NotSelected }),
        None => Ok(()),
    }
}

/// Writes files below a new, private directory. No link is ever made there, and names were checked to be plain: joining them leads
/// nowhere else.
struct Sink<'a> {
    root: &'a Path,
    dirs: BTreeSet<PathBuf>,
    access: Access,
}

impl Sink<'_> {
    fn create(&mut self, name: &str, executable: bool) -> Result<(PathBuf, File), UnpackError> {
        let path = self.root.join(name);
        let failed = |source| UnpackError::Write { path: path.clone(), source };
        for above in path.ancestors().skip(1).take_while(|above| *above != self.root) {
            self.dirs.insert(above.to_owned());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        // Exclusive: where a file system holds two names for the same, the second does not replace the first.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        let mode = match (self.access, executable) {
            (Access::Writable, false) => 0o644,
            (Access::Writable, true) => 0o755,
            (Access::ReadOnly, false) => 0o444,
            (Access::ReadOnly, true) => 0o555,
        };
        file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
        Ok((path, file))
    }

    /// Makes what was written last.
    fn finish(self) -> Result<(), UnpackError> {
        for dir in self.dirs.iter().map(PathBuf::as_path).chain([self.root]) {
            let done = fs::set_permissions(dir, Permissions::from_mode(0o755)).and_then(|()| sync_directory(dir));
            done.map_err(|source| UnpackError::Write { path: dir.to_owned(), source })?;
        }
        Ok(())
    }
}

/// Makes what was created or renamed in `dir` last.
pub(crate) fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
