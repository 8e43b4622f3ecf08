//! Packed bundles: tars, which are unpacked into a directory named by their digest.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use plumbline_bundle::Cache;
use plumbline_bundle::limits::MAX_SIGNATURE_BYTES;

use super::error::cache_error;
use super::{ResolvedPlugin, SourceKind};
use crate::error::AppError;

/// The offset of the magic bytes in a tar.
const MAGIC_AT: usize = 257;
/// The number of bytes that suffice to recognize a tar.
pub(super) const MAGIC_BYTES: usize = 512;
/// The first bytes of gzip and zstd files. Bundles are not compressed; unpacking reports that.
const COMPRESSED: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
/// The suffix of the file with the signatures of a tar, after the name of the tar.
pub(super) const SIGNATURES: &str = ".dsse.json";

/// Whether the file at `path` is a packed bundle rather than a definition, by its name or its
/// content.
pub fn is_packed(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if [".tar", ".tgz", ".tar.gz", ".tar.zst"].iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC_BYTES as u64).read_to_end(&mut beginning));
    read.is_ok() && is_tar(&beginning)
}

/// Whether a file with these first bytes is a packed bundle.
pub(super) fn is_tar(beginning: &[u8]) -> bool {
    beginning.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar"))
        || COMPRESSED.iter().any(|magic| beginning.starts_with(magic))
}

/// The plugin in the tar at `path`. Its unpacked files stay in the cache.
pub(super) fn found(path: &Path, reference: &str) -> Result<ResolvedPlugin, AppError> {
    let file = File::open(path)
        .map_err(|error| AppError::usage(format!("failed to read bundle `{}`", path.display())).because(&error))?;
    unpacked(&file, reference, SourceKind::Named)
}

pub(super) fn unpacked(tar: &File, reference: &str, kind: SourceKind) -> Result<ResolvedPlugin, AppError> {
    let failed = |error| cache_error(format!("failed to load bundle `{reference}`"), &error);
    let cache = Cache::user().map_err(failed)?;
    let bundle = cache.unpacked(BufReader::new(tar)).map_err(failed)?;
    Ok(ResolvedPlugin::of_bundle(bundle, reference, kind))
}

/// Reads the signatures next to a tar, `NAME.bundle.tar.dsse.json`. `None` if there are none.
///
/// # Errors
/// The signatures cannot be read.
pub fn signatures_beside(tar: &Path) -> Result<Option<Vec<u8>>, AppError> {
    let mut path = tar.as_os_str().to_owned();
    path.push(SIGNATURES);
    let path = PathBuf::from(path);
    if !path.is_file() {
        return Ok(None);
    }
    let mut signatures = Vec::new();
    // With one byte more than the limit, the reader rejects the file.
    File::open(&path)
        .and_then(|file| file.take(MAX_SIGNATURE_BYTES + 1).read_to_end(&mut signatures))
        .map_err(|error| AppError::usage(format!("failed to read signatures `{}`", path.display())).because(&error))?;
    Ok(Some(signatures))
}
