//! Packs a directory into a file that is written completely or not at all.

use std::path::{Path, PathBuf};

use super::directory::{Packing, pack_into};
use super::error::PackError;
use super::options::{PackOptions, Skipped};
use crate::atomic::AtomicFile;

/// A written archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The path of the file.
    pub path: PathBuf,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 digest (FIPS 180-4): 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// The number of files and directories in it.
    pub entries: u64,
    /// The first [`super::MAX_SKIPPED_LISTED`] skipped entries.
    pub skipped: Vec<Skipped>,
    /// The number of skipped entries.
    pub skipped_total: u64,
}

/// Packs the content of `dir` into the file `out`, as [`super::pack_directory`] does.
///
/// The file is written under a temporary name next to `out` and then moved, so a partial archive
/// never appears under its final name. If `out` is inside `dir`, it is not packed.
///
/// # Errors
///
/// Returns a [`PackError`]. The temporary file is then removed, and an existing file at `out`
/// stays.
pub fn write_archive(dir: &Path, out: &Path, options: &PackOptions) -> Result<Packed, PackError> {
    let what = format!("`{}`", out.display());
    let file = AtomicFile::create_on(&options.disk, out, 0o644).map_err(|error| PackError::write(&what, error))?;
    let mut options = options.clone();
    options.exclude.extend([out.to_owned(), file.temporary_path().to_owned()]);
    let (file, packing) = pack_into(dir, file, &what, &options, &mut || false)?;
    file.commit().map_err(|error| PackError::write(&what, error))?;
    let Packing { digest, entries, skipped, skipped_total } = packing;
    Ok(Packed { path: out.to_owned(), bytes: digest.bytes, sha256: digest.sha256, entries, skipped, skipped_total })
}
