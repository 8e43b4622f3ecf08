//! Reads files with a limit on their size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plumbline_core::size::Bytes;

use crate::error::AppError;

/// The largest file with credentials, in bytes. A Secret can hold 1 MiB.
pub(crate) const MAX_CREDENTIALS: usize = 512 << 10;

/// Reads a text file of at most `max` bytes. `what` is the summary of the error if that fails.
pub(crate) fn read_text(path: &Path, max: usize, what: &str) -> Result<String, AppError> {
    let bytes = read_bytes(path, max as u64, what)?;
    String::from_utf8(bytes).map_err(|error| AppError::usage(what).because(&error))
}

/// Reads a file of at most `max` bytes. `what` is the summary of the error if that fails.
pub(crate) fn read_bytes(path: &Path, max: u64, what: &str) -> Result<Vec<u8>, AppError> {
    let file = File::open(path).map_err(|error| AppError::usage(what).because(&error))?;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(|error| AppError::usage(what).because(&error))?;
    if bytes.len() as u64 > max {
        let error = std::io::Error::other(format!("it has more than {}", Bytes(max)));
        return Err(AppError::usage(what).because(&error));
    }
    Ok(bytes)
}
