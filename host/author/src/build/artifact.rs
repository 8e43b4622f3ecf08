//! The file that a build command produces.

use std::fs;
use std::path::Path;

use plumbline_core::limits::MAX_COMPONENT_BYTES;

use crate::project::{AuthorError, read_bounded};

/// Removes the artifact of an earlier build, so that it cannot be mistaken for that of this build.
pub(super) fn clear(path: &Path) -> Result<(), AuthorError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(AuthorError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Returns the bytes of the artifact.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, AuthorError> {
    if !path.exists() {
        return Err(AuthorError::input(format!("the build made no `{}`", path.display()))
            .hint("`artifact` in `module.yaml` names what an own `command` makes, relative to the project"));
    }
    read_bounded(path, MAX_COMPONENT_BYTES)
        .map_err(|error| error.hint("build it without debug information, and optimised for size"))
}
