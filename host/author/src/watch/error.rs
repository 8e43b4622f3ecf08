//! Why a project cannot be watched.

use std::path::PathBuf;

/// Why a project cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The project cannot be read.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// What.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The system does not tell of changes.
    #[error("failed to watch `{path}`: {source}")]
    Watch {
        /// What.
        path: PathBuf,
        /// The cause.
        source: notify::Error,
    },
    /// More than a project holds.
    #[error("`{path}` holds more than {limit} files: that is not a plugin's directory")]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// How many are looked at.
        limit: usize,
    },
}

impl WatchError {
    /// What to do.
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
