//! A directory, as a file that is there whole or not at all.

use std::path::{Path, PathBuf};

use super::directory::{Packing, pack_into};
use super::error::PackError;
use super::options::{PackOptions, Skipped};
use crate::atomic::AtomicFile;

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 (FIPS 180-4), 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Files and directories in it.
    pub entries: u64,
    /// What was left out, the first [`super::MAX_SKIPPED_LISTED`].
    pub skipped: Vec<Skipped>,
    /// How many were left out.
    pub skipped_total: u64,
}

/// Packs what is in `dir` into the file `out`, as [`super::pack_directory`] does. It is written under a temporary name beside `out`
/// and then moved there: nobody ever sees half an archive under its name. `out` may be below `dir`, and is not packed then.
///
/// # Errors
/// [`PackError`]. The temporary file is removed then, and what was at `out` stays.
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
