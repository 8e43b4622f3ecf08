//! Files: bounded reads and temporary directories.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use plumbline_core::size::Bytes;
use tempfile::TempDir;

use crate::error::{AppError, CHECK_FILE, Explain as _};

/// The error if a temporary directory could not be created.
pub(crate) const NO_ROOM: &str = "failed to create a directory for temporary files";

/// The largest file with credentials, in bytes. A Secret can hold 1 MiB.
pub(crate) const MAX_CREDENTIALS: usize = 512 << 10;

/// Reads a text file of at most `max` bytes. `what` is the summary of the error if that fails.
pub(crate) fn read_text(path: &Path, max: usize, what: &str) -> Result<String, AppError> {
    let bytes = read_bytes(path, max as u64, what)?;
    String::from_utf8(bytes).usage_error(what).hint(CHECK_FILE)
}

/// Reads a file of at most `max` bytes. `what` is the summary of the error if that fails.
pub(crate) fn read_bytes(path: &Path, max: u64, what: &str) -> Result<Vec<u8>, AppError> {
    let bytes = read_start(path, max + 1).usage_error(what).hint(CHECK_FILE)?;
    if bytes.len() as u64 > max {
        return Err(AppError::usage(what)
            .cause(format!("it has more than {}", Bytes(max)))
            .hint("check that it is the right file"));
    }
    Ok(bytes)
}

/// Reads the first `max` bytes of a file. Callers ask for one more than they accept.
pub(crate) fn read_start(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the first `max` bytes of a file as text.
pub(crate) fn read_start_text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(max).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns `text`, unless it has more than `max` bytes: the rest of its file is not read.
pub(crate) fn whole(text: String, max: u64) -> io::Result<String> {
    if text.len() as u64 > max {
        return Err(io::Error::other(format!("it has more than {}", Bytes(max))));
    }
    Ok(text)
}

/// Reads the first `max` bytes of standard input as text if the path is `-`, otherwise of the file.
pub(crate) fn read_input_text(path: &Path, max: u64) -> io::Result<String> {
    if path != Path::new("-") {
        return read_start_text(path, max);
    }
    let mut text = String::new();
    io::stdin().lock().take(max).read_to_string(&mut text)?;
    Ok(text)
}

/// The paths of the entries of a directory, sorted.
pub(crate) fn paths_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Creates a directory for temporary files.
pub(crate) fn scratch() -> Result<TempDir, AppError> {
    tempfile::tempdir().system_error(NO_ROOM)
}
