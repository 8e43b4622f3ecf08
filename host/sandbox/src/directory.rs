//! The directories that a check may read.

use std::path::{Path, PathBuf};

/// A directory that a check may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The path that the check uses.
    pub path: String,
    /// The directory on this machine. In a pod, it is where the node's directory is mounted.
    pub source: PathBuf,
}

impl Directory {
    /// Returns the directory on this machine for `path` of a node whose file system is at `root`. An
    /// empty `root` means that this machine is the node.
    ///
    /// Below a root, a symbolic link of the node would lead into the file system of this machine, so
    /// it is not followed.
    ///
    /// # Errors
    ///
    /// Returns a sentence if it does not exist, or is not a directory.
    pub fn of_node(root: &Path, path: &str) -> Result<Self, String> {
        let is_node = root.as_os_str().is_empty();
        let mut below = root.to_owned();
        for part in path.split('/').filter(|part| !part.is_empty() && !is_node) {
            below.push(part);
            let metadata = below.symlink_metadata().map_err(|error| error.to_string())?;
            if metadata.is_symlink() {
                return Err("a part of its path is a symbolic link on this node: grant the target".to_owned());
            }
        }
        let source = if is_node { PathBuf::from(path) } else { below };
        match source.metadata() {
            Ok(metadata) if metadata.is_dir() => Ok(Self { path: path.to_owned(), source }),
            Ok(_) => Err("it is not a directory".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
