//! Reads files of a project within limits.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::AuthorError;

/// Returns the content of a file of at most `limit` bytes.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, AuthorError> {
    let failed =
        |error: std::io::Error| AuthorError::input(format!("failed to read file `{}`", path.display())).because(error);
    let file = File::open(path).map_err(failed)?;
    // Reading a pipe or a device might never end.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(AuthorError::input(format!("`{}` is not a regular file", path.display())));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(AuthorError::input(format!("file `{}` is larger than {limit} bytes", path.display())));
    }
    Ok(bytes)
}

/// Like [`read_bounded`], for text.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, AuthorError> {
    String::from_utf8(read_bounded(path, limit)?)
        .map_err(|error| AuthorError::input(format!("file `{}` is not UTF-8 text", path.display())).because(error))
}
