//! Why a directory was not packed.

use std::io;
use std::path::PathBuf;

use crate::member::NameFault;
use crate::walk::WalkError;

/// Why a directory was not packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The directory could not be opened.
    #[error("failed to open directory `{}`: {source}", dir.display())]
    Open {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file or directory in it could not be read.
    #[error("failed to read `{member}`: {source}")]
    Read {
        /// Its path relative to the directory, escaped and cut.
        member: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file became shorter while it was read. What is missing cannot be made up; packing again may succeed.
    #[error("`{member}` became shorter while it was packed: {got} bytes instead of {expected}")]
    Shrunk {
        /// Its path relative to the directory, escaped and cut.
        member: String,
        /// Bytes when it was opened.
        expected: u64,
        /// Bytes that came.
        got: u64,
    },
    /// More files and directories than the limit, given here.
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    /// More bytes, packed, than the limit, given here.
    #[error("more than {0} bytes packed")]
    TooManyBytes(u64),
    /// A name that does not fit into an upload.
    #[error("`{member}`: {fault}")]
    Name {
        /// Its path relative to the directory, escaped and cut.
        member: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// The caller wanted no more.
    #[error("packing was cancelled")]
    Cancelled,
    /// No space is left where the packed bytes go.
    #[error("no space left for {what}: {source}")]
    Full {
        /// What was being written.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The packed bytes could not be written.
    #[error("failed to write {what}: {source}")]
    Write {
        /// What was being written.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl PackError {
    /// The error of a writer of `what`.
    pub(super) fn write(what: &str, source: io::Error) -> Self {
        let what = what.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full { what, source }
            }
            _ => Self::Write { what, source },
        }
    }
}

impl From<WalkError> for PackError {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::TooManyEntries(limit) => Self::TooManyEntries(limit),
            WalkError::Read { shown, source } => Self::Read { member: shown, source },
        }
    }
}
