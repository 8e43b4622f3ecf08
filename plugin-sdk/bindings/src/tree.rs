//! Generated files in the tree.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::BindingsError;
use crate::registry::Files;

/// The files below `root` that are not as they are generated: others, or not there.
///
/// # Errors
/// [`BindingsError::Io`] if a file cannot be read.
pub fn check(root: &Path, files: &Files) -> Result<Vec<PathBuf>, BindingsError> {
    let mut different = Vec::new();
    for (path, content) in files {
        let file = root.join(path);
        match fs::read(&file) {
            // A checkout may have other ends of lines than the repository.
            Ok(found) if unix(&found) == unix(content) => {}
            Ok(_) => different.push(path.clone()),
            Err(error) if error.kind() == ErrorKind::NotFound => different.push(path.clone()),
            Err(error) => return Err(BindingsError::io("read", file)(error)),
        }
    }
    Ok(different)
}

/// Writes those files below `root` that are not as they are generated, and returns which those were. Others are not touched, so that
/// nothing is built again for their sake.
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
