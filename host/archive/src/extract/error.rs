//! Errors of unpacking, and who is responsible for each.

use std::io;
use std::path::PathBuf;

use crate::member::{NameFault, StreamError};

/// What makes a member unacceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The name is invalid or unsafe.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// A file without a name of its own.
    #[error("a file without a name")]
    Unnamed,
    /// The path is taken by something of another kind: a directory, a parent that is a file, or
    /// something that is not unpacked.
    #[error("its path conflicts with an entry of another type")]
    Conflict,
}

/// Who is responsible for an error, which determines the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The archive is invalid, and sending it again does not help (HTTP 400).
    Archive,
    /// The archive exceeds the limits (HTTP 413).
    Size,
    /// The archive did not arrive completely. A retry may succeed.
    Transport,
    /// This machine failed to write the archive (HTTP 500).
    Host,
}

/// Error while unpacking an archive. Files that were already written stay, so the caller unpacks
/// into a separate directory and removes it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// A member would be written outside of the directory, or in place of another. The whole
    /// archive is rejected, because its other members are not trustworthy either.
    #[error("member `{member}` is refused: {why}")]
    Hostile {
        /// The name of the member, escaped and cut.
        member: String,
        /// What is wrong with it.
        why: MemberError,
    },
    /// The stream is damaged, truncated, or exceeds the limits.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The destination directory could not be opened.
    #[error("failed to open directory `{}`: {source}", dir.display())]
    Open {
        /// The directory.
        dir: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A member could not be written.
    #[error("failed to write member `{member}`: {source}")]
    Write {
        /// The name of the member.
        member: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl ExtractError {
    /// Returns who is responsible for the error.
    #[must_use]
    pub fn blame(&self) -> Blame {
        match self {
            Self::Open { .. } | Self::Write { .. } => Blame::Host,
            Self::Stream(StreamError::Source(_)) => Blame::Transport,
            Self::Stream(
                StreamError::TooManyEntries(_) | StreamError::TooManyBytes(_) | StreamError::TooManyNameBytes(_),
            ) => Blame::Size,
            Self::Hostile { .. } | Self::Stream(_) => Blame::Archive,
        }
    }
}
