//! Why an archive was not unpacked, and whose fault that is.

use std::io;
use std::path::PathBuf;

use crate::member::{NameFault, StreamError};

/// What is wrong with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Hostility {
    /// Its name leads elsewhere, or nowhere.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// A file without a name of its own.
    #[error("a file without a name")]
    Unnamed,
    /// A file where a directory is, or below a file, or in place of something that was not unpacked.
    #[error("its place is taken by something of another kind")]
    Conflict,
}

/// Whom to tell, and hence what to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The archive is not acceptable; sending it again changes nothing (HTTP 400).
    Archive,
    /// The archive is larger than the limits allow (HTTP 413).
    Size,
    /// The archive did not arrive; it may arrive whole the next time.
    Transport,
    /// This machine could not write it (HTTP 500).
    Host,
}

/// Why an archive was not unpacked. What was written by then stays where it is: the caller unpacks into a directory of its own
/// and removes that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// A member that would land elsewhere, or in place of another. The whole archive is refused: who sends one such member
    /// does not deserve trust in the others.
    #[error("member `{member}` is refused: {why}")]
    Hostile {
        /// The member's name, escaped and cut.
        member: String,
        /// What is wrong with it.
        why: Hostility,
    },
    /// The stream is damaged, ends early or is larger than the limits.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The directory to unpack to could not be opened.
    #[error("failed to open directory `{}`: {source}", dir.display())]
    Open {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A member could not be written.
    #[error("failed to write member `{member}`: {source}")]
    Write {
        /// The member's name.
        member: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ExtractError {
    /// Whose fault it is.
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
