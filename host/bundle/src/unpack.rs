//! Unpacking of a bundle's tar to disk, completely or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use plumbline_archive::atomic::{TEMPORARY_PREFIX, parent_directory};
use plumbline_archive::disk::Disk;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES};

use crate::bundle::{missing_file, parse_profile};
use crate::error::UnpackError;
use crate::name::{EntryFault, shown};
use crate::profile::{MAX_PROFILE_BYTES, PROFILE_FILE};
use crate::selection::{DEFINITION_FILES, Selection};
use crate::ustar::Reader;
use plumbline_core::Digest;

/// Permissions of unpacked files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Writable,
    /// Files are read-only: 0444 and 0555. Directories stay writable, so that the tree can be
    /// removed normally.
    ReadOnly,
}

/// Unpacks the tar of a bundle from `tar` to the directory `into`, which must not exist, and
/// returns the tar's digest.
///
/// Only tars exactly as [`Bundle::pack`](crate::Bundle::pack) writes them are accepted. A bundle
/// therefore has one digest and means the same to every program:
///
/// * It has no links, devices, directories, extended headers, owners or times.
/// * Files are sorted and unique, and their names are relative and plain.
/// * Nothing follows the end of the tar.
/// * Sizes are within the [limits](crate::limits).
/// * `plugin.yaml` is a valid definition, and the definition selects every file.
///
/// Modules are not inspected. [`Bundle::open`](crate::Bundle::open) does that.
///
/// Files are written to a new directory next to `into`, which is synced and renamed at the end.
/// Modes do not depend on the umask: 0644, or 0755 for executable files.
///
/// # Errors
/// No files are left behind.
pub fn unpack(tar: impl Read, into: &Path) -> Result<Digest, UnpackError> {
    unpack_as(tar, into, None, Access::Writable)
}

/// Unpacks a tar like [`unpack`], and requires that it has the digest `expected`.
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
    let parent = parent_directory(into);
    let staging = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(parent);
    let staging = staging.map_err(|source| UnpackError::Write { path: parent.to_owned(), source })?;
    let mut reader = Reader::new(tar);
    // The directory is new and private. It never contains links, and names were checked to be plain,
    // so joined paths stay inside.
    let root = staging.path();
    let mut dirs = BTreeSet::from([root.to_owned()]);
    while let Some(header) = reader.next()? {
        let path = root.join(&header.name);
        dirs.extend(path.ancestors().skip(1).take_while(|above| *above != root).map(Path::to_owned));
        let failed = |source| UnpackError::Write { path: path.clone(), source };
        let mut file = create(&path, access, header.executable).map_err(failed)?;
        reader.content(&header.name, |piece| file.write_all(piece).map_err(failed))?;
        file.sync_all().map_err(failed)?;
    }
    let (digest, files) = reader.finish();
    if let Some(expected) = expected.filter(|&expected| *expected != digest) {
        return Err(UnpackError::Digest { expected: *expected, actual: digest });
    }
    check_files(root, &files)?;
    let disk = Disk::default();
    // Children before their parents.
    for dir in dirs.into_iter().rev() {
        let done = fs::set_permissions(&dir, Permissions::from_mode(0o755)).and_then(|()| disk.sync_directory(&dir));
        done.map_err(|source| UnpackError::Write { path: dir, source })?;
    }

    let failed = |source| UnpackError::Write { path: into.to_owned(), source };
    fs::rename(root, into).map_err(failed)?;
    // The directory was renamed, so there is nothing to remove at its old path.
    let _ = staging.keep();
    disk.sync_directory(parent).map_err(failed)?;
    Ok(digest)
}

fn create(path: &Path, access: Access, executable: bool) -> std::io::Result<File> {
    fs::create_dir_all(parent_directory(path))?;
    // Create exclusively. If a file system treats two names as the same file, the second must not
    // replace the first.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let mode = match (access, executable) {
        (Access::Writable, false) => 0o644,
        (Access::Writable, true) => 0o755,
        (Access::ReadOnly, false) => 0o444,
        (Access::ReadOnly, true) => 0o555,
    };
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// Checks that the definition and the profile are valid and select all files.
fn check_files(root: &Path, files: &BTreeSet<String>) -> Result<(), UnpackError> {
    let name = DEFINITION_FILES.into_iter().find(|name| files.contains(*name)).ok_or(UnpackError::NoDefinition)?;
    let text = read_start(&root.join(name), MAX_YAML_BYTES).map_err(UnpackError::Source)?;
    let definition = Definition::parse_bytes(&text).map_err(UnpackError::Definition)?.definition;
    let profile = match files.contains(PROFILE_FILE) {
        true => {
            let text = read_start(&root.join(PROFILE_FILE), MAX_PROFILE_BYTES).map_err(UnpackError::Source)?;
            Some(parse_profile(&text, &definition).map_err(UnpackError::Profile)?)
        }
        false => None,
    };
    if let Some(error) = profile.as_ref().and_then(|profile| missing_file(profile, files)) {
        return Err(UnpackError::Profile(error));
    }
    let selection = Selection::of(name, &definition, profile.as_ref()).map_err(UnpackError::Pattern)?;
    match files.iter().find(|file| !selection.takes(file)) {
        Some(other) => Err(UnpackError::Refused { entry: shown(other.as_bytes()), why: EntryFault::NotSelected }),
        None => Ok(()),
    }
}

/// Reads at most one byte more than `most`, so that the parser reports a file that is too long.
pub(crate) fn read_start(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}
