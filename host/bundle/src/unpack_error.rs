//! Why a tar was not unpacked.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;
use plumbline_core::size::Bytes;

use crate::digest::Digest;
use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES};
use crate::name::EntryFault;
use crate::ustar::ReadError;

/// Why a tar was not unpacked. Nothing of it is left anywhere then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The source failed: says nothing about the tar.
    #[error("reading the tar failed: {0}")]
    Source(#[source] io::Error),
    /// It is compressed, and a bundle is not: its digest would depend on the compressor.
    #[error("it is compressed ({0}), and a bundle is a plain tar")]
    Compressed(&'static str),
    /// It is something else.
    #[error("it is not a tar")]
    NotATar,
    /// Its end is missing.
    #[error("it ends early, after {0} whole files")]
    Truncated(u64),
    /// It makes no sense from somewhere on.
    #[error("it is damaged after {0} whole files")]
    Damaged(u64),
    /// Something follows its end.
    #[error("there are bytes behind its end")]
    Trailing,
    /// It has too many files.
    #[error("it has more than {MAX_ENTRIES} files")]
    TooManyEntries,
    /// Its files are too large together.
    #[error("its files have more than {} together", Bytes(MAX_BUNDLE_BYTES))]
    TooManyBytes,
    /// One of its files is too large.
    #[error("file `{entry}` in it has {}: more than {}", Bytes(*.bytes), Bytes(MAX_ENTRY_BYTES))]
    EntryTooLarge {
        /// The file, escaped and cut.
        entry: String,
        /// The size that is announced.
        bytes: u64,
    },
    /// An entry is no part of a bundle. The whole is refused: who sends one such entry does not deserve trust in the others.
    #[error("entry `{entry}` is refused: {why}")]
    Refused {
        /// The entry, escaped and cut.
        entry: String,
        /// What is wrong with it.
        why: EntryFault,
    },
    /// There is no definition in it.
    #[error("it has no `plugin.yaml`")]
    NoDefinition,
    /// Its definition is none.
    #[error("its definition cannot be used: {0}")]
    Definition(#[source] DefinitionError),
    /// A pattern of its definition is no glob.
    #[error("its definition cannot be used: `plumbline.files`: {0}")]
    Pattern(String),
    /// It is another one than was announced.
    #[error("its digest is {actual}, and {expected} was expected")]
    Digest {
        /// What was announced.
        expected: Digest,
        /// What it has.
        actual: Digest,
    },
    /// There is something where it is to be unpacked to.
    #[error("`{}` already exists", .0.display())]
    Exists(PathBuf),
    /// It could not be written.
    #[error("failed to write `{}`: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl UnpackError {
    /// What to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Compressed("zip") => Some("unpack it, and pack the directory: `plumbline plugin pack DIR`"),
            Self::Compressed(_) => Some("decompress it first, for example with `gunzip`"),
            Self::Truncated(_) | Self::Damaged(_) => Some("fetch or copy it again"),
            Self::Digest { .. } => Some("fetch it again; if it stays so, do not use it: somebody changed it"),
            Self::NotATar | Self::Trailing | Self::NoDefinition | Self::Refused { .. } => Some(
                "bundles are what `plumbline plugin pack DIR` writes; a tar of other tools can be unpacked, looked at, and packed with that",
            ),
            Self::TooManyEntries | Self::TooManyBytes | Self::EntryTooLarge { .. } => {
                Some("what a plugin needs beyond that belongs into its container's image")
            }
            _ => None,
        }
    }

    /// Whether this machine is to blame, and not the tar.
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
