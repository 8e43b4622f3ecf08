//! Why a results archive could not be read.

use std::io;
use std::path::PathBuf;

use crate::extract::ExtractError;
use crate::member::{NameFault, StreamError};
use crate::walk::WalkError;

/// Why a results archive could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The archive could not be opened.
    #[error("failed to open `{}`: {source}", path.display())]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is neither a file nor a directory.
    #[error("`{}` is neither a file nor a directory", .0.display())]
    Special(PathBuf),
    /// It is damaged, ends early, is larger than the limits, or is no `.tar.gz` at all.
    #[error("failed to read archive `{}`: {source}", path.display())]
    Stream {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// A directory with the content of an archive could not be gone through.
    #[error("failed to read directory `{}`: {reason}", dir.display())]
    Walk {
        /// The directory.
        dir: PathBuf,
        /// What went wrong, with the name of the file.
        reason: String,
    },
    /// A member with a name that leads elsewhere. Nothing is believed of an archive that holds one.
    #[error("archive `{}` holds member `{member}`, {why}", path.display())]
    Hostile {
        /// The file.
        path: PathBuf,
        /// The member's name, escaped and cut.
        member: String,
        /// What is wrong with it.
        why: NameFault,
    },
    /// It holds none of what every results archive holds.
    #[error("`{}` is not a results archive: neither `meta` nor `plugins` is at its root", .0.display())]
    NotResults(PathBuf),
    /// A file that describes the archive makes no sense.
    #[error("`{member}` of the archive cannot be used: {reason}")]
    Meta {
        /// The file.
        member: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such file.
    #[error("the archive holds no file `{0}`")]
    Missing(String),
    /// A file is larger than the caller wants to hold in memory.
    #[error("`{member}` of the archive has {bytes} bytes, more than {limit}")]
    TooLarge {
        /// The file.
        member: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A file could not be read, or the caller could not take it.
    #[error("failed to read `{member}` of the archive: {source}")]
    File {
        /// The file.
        member: String,
        /// What went wrong.
        source: io::Error,
    },
    /// A plugin's results could not be unpacked.
    #[error("failed to unpack the results of plugin `{plugin}`: {source}")]
    Extract {
        /// The plugin.
        plugin: String,
        /// What went wrong.
        source: ExtractError,
    },
}

/// Errors of a pass through an archive, before it is known which file that is.
pub(super) enum PassError {
    Stream(StreamError),
    Walk(WalkError),
    Hostile { member: String, why: NameFault },
}

impl From<StreamError> for PassError {
    fn from(error: StreamError) -> Self {
        Self::Stream(error)
    }
}

impl From<WalkError> for PassError {
    fn from(error: WalkError) -> Self {
        Self::Walk(error)
    }
}

impl PassError {
    pub(super) fn of(self, path: PathBuf) -> ReadError {
        match self {
            Self::Stream(source) => ReadError::Stream { path, source },
            Self::Walk(error) => ReadError::Walk { dir: path, reason: error.to_string() },
            Self::Hostile { member, why } => ReadError::Hostile { path, member, why },
        }
    }
}
