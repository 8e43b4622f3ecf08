//! The contract as files, for tools that read it from disk.

use std::fs;
use std::path::PathBuf;

use plumbline_sandbox::componentize::CONTRACT;

use crate::project::{AuthorError, Project};

/// Returns the project's own `wit/`, or else a copy of the embedded contract in the build
/// directory.
pub(super) fn directory(project: &Project) -> Result<PathBuf, AuthorError> {
    if let Some(own) = project.wit() {
        return Ok(own);
    }
    let directory = project.build_directory().join("wit");
    fs::create_dir_all(&directory).map_err(AuthorError::io("create", &directory))?;
    for (name, text) in CONTRACT {
        let file = directory.join(name);
        fs::write(&file, text).map_err(AuthorError::io("write", &file))?;
    }
    Ok(directory)
}
