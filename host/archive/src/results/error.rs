//! Errors of reading a results archive.

use std::io;
use std::path::PathBuf;

use crate::extract::ExtractError;
use crate::member::{NameFault, StreamError};
use crate::walk::WalkError;

/// Error while reading a results archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The archive could not be opened.
    #[error("failed to open `{}`: {source}", path.display())]
    Open {
        /// The path of the file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path is neither a file nor a directory.
    #[error("`{}` is neither a file nor a directory", .0.display())]
    Special(PathBuf),
    /// The archive is damaged, truncated or not a `.tar.gz`, or it exceeds the limits.
    #[error("failed to read archive `{}`: {source}", path.display())]
    Stream {
        /// The path of the archive.
        path: PathBuf,
        /// The reason.
        source: StreamError,
    },
    /// A directory with the content of an archive could not be traversed.
    #[error("failed to read directory `{}`: {reason}", dir.display())]
    Walk {
        /// The directory.
        dir: PathBuf,
        /// The reason, with the name of the file.
        reason: String,
    },
    /// A member has an unsafe name. Such an archive is not trusted at all.
    #[error("archive `{}` holds member `{member}`, {why}", path.display())]
    Hostile {
        /// The path of the archive.
        path: PathBuf,
        /// The name of the member, escaped and cut.
        member: String,
        /// What is wrong with it.
        why: NameFault,
    },
    /// The archive contains nothing that every results archive contains.
    #[error("`{}` is not a results archive: neither `meta` nor `plugins` is at its root", .0.display())]
    NotResults(PathBuf),
    /// A metadata file of the archive is invalid.
    #[error("`{member}` of the archive cannot be used: {reason}")]
    Meta {
        /// The name of the file.
        member: String,
        /// The reason.
        reason: String,
    },
    /// The archive does not contain this file.
    #[error("the archive holds no file `{0}`")]
    Missing(String),
    /// A file exceeds the size that the caller wants to hold in memory.
    #[error("`{member}` of the archive has {bytes} bytes, more than {limit}")]
    TooLarge {
        /// The name of the file.
        member: String,
        /// The size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file could not be read, or the caller's callback failed.
    #[error("failed to read `{member}` of the archive: {source}")]
    File {
        /// The name of the file.
        member: String,
        /// The reason.
        source: io::Error,
    },
    /// The results of a plugin could not be unpacked.
    #[error("failed to unpack the results of plugin `{plugin}`: {source}")]
    Extract {
        /// The name of the plugin.
        plugin: String,
        /// The reason.
        source: ExtractError,
    },
}

/// An error of a pass through an archive, before its path is added.
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
