//! Errors while unpacking a tar.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;
use plumbline_core::size::Bytes;

use crate::digest::Digest;
use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES};
use crate::name::EntryFault;
use crate::ustar::ReadError;

/// Error while unpacking a tar. No files are left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The source could not be read. This says nothing about the tar.
    #[error("reading the tar failed: {0}")]
    Source(#[source] io::Error),
    /// The input is compressed. Bundles are not, because their digest would depend on the
    /// compressor.
    #[error("it is compressed ({0}), and a bundle is a plain tar")]
    Compressed(&'static str),
    /// The input is not a tar.
    #[error("it is not a tar")]
    NotATar,
    /// The tar is truncated.
    #[error("it ends early, after {0} whole files")]
    Truncated(u64),
    /// The tar is malformed after some files.
    #[error("it is damaged after {0} whole files")]
    Damaged(u64),
    /// Bytes follow the end of the tar.
    #[error("there are bytes behind its end")]
    Trailing,
    /// The tar has too many files.
    #[error("it has more than {MAX_ENTRIES} files")]
    TooManyEntries,
    /// The total size of its files is too large.
    #[error("its files have more than {} together", Bytes(MAX_BUNDLE_BYTES))]
    TooManyBytes,
    /// One of its files is too large.
    #[error("file `{entry}` in it has {}: more than {}", Bytes(*.bytes), Bytes(MAX_ENTRY_BYTES))]
    EntryTooLarge {
        /// Name of the file, escaped and truncated.
        entry: String,
        /// Size in the header.
        bytes: u64,
    },
    /// An entry cannot be part of a bundle. The whole tar is rejected, because its other entries
    /// are not trustworthy either.
    #[error("entry `{entry}` is refused: {why}")]
    Refused {
        /// Name of the entry, escaped and truncated.
        entry: String,
        /// What is wrong with the entry.
        why: EntryFault,
    },
    /// The tar has no definition.
    #[error("it has no `plugin.yaml`")]
    NoDefinition,
    /// The definition is invalid.
    #[error("its definition cannot be used: {0}")]
    Definition(#[source] DefinitionError),
    /// A pattern of the definition is not a glob.
    #[error("its definition cannot be used: `plumbline.files`: {0}")]
    Pattern(String),
    /// The digest is not the expected one.
    #[error("its digest is {actual}, and {expected} was expected")]
    Digest {
        /// The expected digest.
        expected: Digest,
        /// The actual digest.
        actual: Digest,
    },
    /// The target already exists.
    #[error("`{}` already exists", .0.display())]
    Exists(PathBuf),
    /// A file or directory could not be written.
    #[error("failed to write `{}`: {source}", path.display())]
    Write {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
}

impl UnpackError {
    /// Returns a hint with the fix, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Compressed("zip") => Some("unpack it, and pack the directory: `plumbline plugin pack DIR`"),
            Self::Compressed(_) => Some("decompress it first, for example with `gunzip`"),
            Self::Truncated(_) | Self::Damaged(_) => Some("fetch or copy it again"),
            Self::Digest { .. } => Some("fetch it again; if that does not help, do not use it: somebody changed it"),
            Self::NotATar | Self::Trailing | Self::NoDefinition | Self::Refused { .. } => Some(
                "bundles are what `plumbline plugin pack DIR` writes; a tar of other tools can be unpacked, looked at, and packed with that",
            ),
            Self::TooManyEntries | Self::TooManyBytes | Self::EntryTooLarge { .. } => {
                Some("what a plugin needs beyond that belongs into its container's image")
            }
            _ => None,
        }
    }

    /// Returns whether the cause is this machine or the source, not the tar.
    #[must_use]
    pub fn is_systems(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Write { .. })
    }
}

impl From<ReadError> for UnpackError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Source(source) => Self::Source(source),
            ReadError::Compressed(kind) => Self::Compressed(kind),
            ReadError::NotATar => Self::NotATar,
            ReadError::Truncated(after) => Self::Truncated(after),
            ReadError::Damaged(after) => Self::Damaged(after),
            ReadError::Trailing => Self::Trailing,
            ReadError::TooManyEntries => Self::TooManyEntries,
            ReadError::TooManyBytes => Self::TooManyBytes,
            ReadError::EntryTooLarge(entry, bytes) => Self::EntryTooLarge { entry, bytes },
            ReadError::Refused(entry, why) => Self::Refused { entry, why },
        }
    }
}
