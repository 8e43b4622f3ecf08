//! Errors of packing a directory.

use std::io;
use std::path::PathBuf;

use crate::member::NameFault;
use crate::walk::WalkError;

/// Error while packing a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The directory could not be opened.
    #[error("failed to open directory `{}`: {source}", dir.display())]
    Open {
        /// The directory.
        dir: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or directory inside could not be read.
    #[error("failed to read `{member}`: {source}")]
    Read {
        /// The path relative to the directory, escaped and cut.
        member: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file became shorter while it was read, so its header is already wrong. Packing again may
    /// succeed.
    #[error("`{member}` became shorter while it was packed: {got} bytes instead of {expected}")]
    Shrunk {
        /// The path relative to the directory, escaped and cut.
        member: String,
        /// The size in bytes when it was opened.
        expected: u64,
        /// The number of bytes that were read.
        got: u64,
    },
    /// There are more files and directories than this limit.
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    /// The packed data takes more bytes than this limit.
    #[error("more than {0} bytes packed")]
    TooManyBytes(u64),
    /// A name is not valid in an upload.
    #[error("`{member}`: {fault}")]
    Name {
        /// The path relative to the directory, escaped and cut.
        member: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// The caller cancelled the operation.
    #[error("packing was cancelled")]
    Cancelled,
    /// The disk of the output is full.
    #[error("no space left for {what}: {source}")]
    Full {
        /// The name of the output.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The packed data could not be written.
    #[error("failed to write {what}: {source}")]
    Write {
        /// The name of the output.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl PackError {
    /// Converts an error of the writer of `what`.
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
