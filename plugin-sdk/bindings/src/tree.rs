//! Generated files in the source tree.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::BindingsError;
use crate::registry::Files;

/// Returns the files below `root` that are missing or differ from the generated content.
///
/// # Errors
/// [`BindingsError::Io`] if a file cannot be read.
pub fn check(root: &Path, files: &Files) -> Result<Vec<PathBuf>, BindingsError> {
    let mut different = Vec::new();
    for (path, content) in files {
        let file = root.join(path);
        match fs::read(&file) {
            // A checkout may have other line endings than the repository.
            Ok(found) if unix(&found) == unix(content) => {}
            Ok(_) => different.push(path.clone()),
            Err(error) if error.kind() == ErrorKind::NotFound => different.push(path.clone()),
            Err(error) => return Err(BindingsError::io("read", file)(error)),
        }
    }
    Ok(different)
}

/// Writes the files below `root` that differ from the generated content, and returns them. Other
/// files are not touched, so that nothing is rebuilt because of them.
///
/// # Errors
/// [`BindingsError::Io`] if a file cannot be read or written.
pub fn write(root: &Path, files: &Files) -> Result<Vec<PathBuf>, BindingsError> {
    let different = check(root, files)?;
    for path in &different {
        let file = root.join(path);
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir).map_err(BindingsError::io("create", dir))?;
        }
        let content = files.get(path).map(Vec::as_slice).unwrap_or_default();
        fs::write(&file, content).map_err(BindingsError::io("write", &file))?;
    }
    Ok(different)
}

fn unix(content: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(content.len());
    for (i, &byte) in content.iter().enumerate() {
        if byte != b'\r' || content.get(i + 1) != Some(&b'\n') {
            lines.push(byte);
        }
    }
    lines
}
