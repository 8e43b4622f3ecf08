//! Errors of watching a project.

use std::path::PathBuf;

/// Error of watching a project.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The project cannot be read.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The system does not report changes.
    #[error("failed to watch `{path}`: {source}")]
    Watch {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: notify::Error,
    },
    /// The directory has too many files.
    #[error("`{path}` holds more than {limit} files: that is not a plugin's directory")]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// The maximum number of files.
        limit: usize,
    },
}

impl WatchError {
    /// Returns how to fix the problem, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Watch { source, .. } if matches!(source.kind, notify::ErrorKind::MaxFilesWatch) => Some(
                "the system watches no more directories for this user: raise fs.inotify.max_user_watches, or close other watchers",
            ),
            Self::Read { .. } | Self::Watch { .. } | Self::TooMany { .. } => None,
        }
    }
}
