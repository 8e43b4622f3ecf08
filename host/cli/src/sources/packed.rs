//! Packed bundles: tars, unpacked into a directory by their digest.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use plumbline_bundle::{Cache, limits::MAX_SIGNATURE_BYTES};

use super::failure::cache_error;
use super::{Found, Where};
use crate::error::CliError;

/// Where a tar says that it is one.
const MAGIC_AT: usize = 257;
/// Bytes that tell whether something is a tar.
pub(super) const MAGIC_BYTES: usize = 512;
/// How compressed files begin, gzip and zstd. A bundle is not compressed, and whoever unpacks it says so.
const COMPRESSED: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
/// What signatures of a tar are called beside it: its name, and this.
pub(super) const SIGNATURES: &str = ".dsse.json";

/// Whether the file at `path` is meant as a packed bundle and not as a definition: by its name, or by what is in it.
pub(crate) fn is_packed(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if [".tar", ".tgz", ".tar.gz", ".tar.zst"].iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC_BYTES as u64).read_to_end(&mut beginning));
    read.is_ok() && is_tar(&beginning)
}

/// Whether what begins so is meant as a packed bundle.
pub(super) fn is_tar(beginning: &[u8]) -> bool {
    beginning.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar"))
        || COMPRESSED.iter().any(|magic| beginning.starts_with(magic))
}

/// The plugin in the tar at `path`. Its files stay where they are unpacked, for as long as a run may need them.
pub(super) fn found(path: &Path, reference: &str) -> Result<Found, CliError> {
    let file = File::open(path)
        .map_err(|error| CliError::usage(format!("failed to read bundle `{}`", path.display())).because(&error))?;
    unpacked(&file, reference, Where::Named)
}

pub(super) fn unpacked(tar: &File, reference: &str, place: Where) -> Result<Found, CliError> {
    let failed = |error| cache_error(format!("failed to load bundle `{reference}`"), &error);
    let cache = Cache::user().map_err(failed)?;
    let bundle = cache.unpacked(BufReader::new(tar)).map_err(failed)?;
    Ok(Found::of_bundle(bundle, reference, place))
}

/// The signatures that stand beside a tar, `NAME.bundle.tar.dsse.json`, if any do.
pub(crate) fn signatures_beside(tar: &Path) -> Result<Option<Vec<u8>>, CliError> {
    let mut path = tar.as_os_str().to_owned();
    path.push(SIGNATURES);
    let path = PathBuf::from(path);
    if !path.is_file() {
        return Ok(None);
    }
    let mut signatures = Vec::new();
    // One byte over the limit is enough for it to be refused.
    File::open(&path)
        .and_then(|file| file.take(MAX_SIGNATURE_BYTES + 1).read_to_end(&mut signatures))
        .map_err(|error| CliError::usage(format!("failed to read signatures `{}`", path.display())).because(&error))?;
    Ok(Some(signatures))
}
