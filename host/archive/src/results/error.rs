//! Limits and errors of reading a results archive.

use std::io;
use std::path::PathBuf;

use plumbline_core::limits::ARCHIVE_ENTRIES;
use plumbline_core::text::Printable;

use crate::extract::ExtractError;
use crate::member::{ExtractLimits, NameFault, NameLimits, StreamError};

/// The limits of a results archive. Reading takes memory per file (its name and about 100 bytes),
/// but not for its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLimits {
    /// The number of files and directories. Default [`ARCHIVE_ENTRIES`], the limit of packing.
    pub entries: u64,
    /// The total unpacked size of all files in bytes. Default 1 TiB: an archive with 100 GiB of
    /// logs at a compression ratio of ten to one.
    pub unpacked_bytes: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { entries: ARCHIVE_ENTRIES, unpacked_bytes: 1 << 40 }
    }
}

impl ReadLimits {
    /// Returns the limits for unpacking what these limits allow to read.
    pub fn extract(&self) -> ExtractLimits {
        ExtractLimits {
            unpacked_bytes: self.unpacked_bytes,
            entries: self.entries,
            names: NameLimits::default(),
            name_bytes: u64::MAX,
        }
    }
}

/// Error while reading a results archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The archive could not be opened.
    #[error("failed to open `{0}`: {1}")]
    Open(PathBuf, #[source] io::Error),
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
    /// A directory with the content of an archive could not be traversed. The reason has the name
    /// of the file.
    #[error("failed to read directory `{0}`: {1}")]
    Walk(PathBuf, String),
    /// A member has an unsafe name. Such an archive is not trusted at all.
    #[error("archive `{}` has an unsafe member `{member}`: {why}", path.display())]
    Hostile {
        /// The path of the archive.
        path: PathBuf,
        /// The name of the member, cut.
        member: Printable,
        /// What is wrong with it.
        why: NameFault,
    },
    /// The archive contains nothing that every results archive contains.
    #[error("`{}` is not a results archive: neither `meta` nor `plugins` is at its root", .0.display())]
    NotResults(PathBuf),
    /// A metadata file of the archive is invalid.
    #[error("invalid file `{member}` in the archive: {reason}")]
    Meta {
        /// The name of the file.
        member: String,
        /// The reason.
        reason: String,
    },
    /// The archive does not contain this file.
    #[error("the archive has no file `{0}`")]
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
    #[error("failed to read `{0}` of the archive: {1}")]
    File(String, #[source] io::Error),
    /// The results of a plugin could not be unpacked.
    #[error("failed to unpack the results of plugin `{0}`: {1}")]
    Extract(String, #[source] ExtractError),
}
