//! Entries that are neither packed nor unpacked, and why.

use std::fmt;

use plumbline_core::text::Printable;

use super::name::NameFault;

/// Why an entry is neither packed nor unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// A symbolic link, wherever it points.
    #[error("a symbolic link")]
    Symlink,
    /// A hard link.
    #[error("a hard link")]
    HardLink,
    /// A character or block device.
    #[error("a device")]
    Device,
    /// A named pipe.
    #[error("a named pipe")]
    Fifo,
    /// A socket.
    #[error("a socket")]
    Socket,
    /// A sparse file in any of the sparse formats.
    #[error("a sparse file")]
    Sparse,
    /// A member of an unknown type, with its byte from the header.
    #[error("a member of type {:?}", char::from(*.0))]
    Type(u8),
    /// An unknown kind that is neither a file nor a directory.
    #[error("neither a file nor a directory")]
    Other,
    /// A name that could not be unpacked again.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// A file whose name is reserved for temporary files.
    #[error("a name that is reserved for temporary files")]
    Reserved,
    /// The entry was removed before it was read.
    #[error("removed meanwhile")]
    Vanished,
}

/// The maximum number of skipped entries that are listed. All of them are counted. 100 are enough
/// to see a pattern.
pub const MAX_SKIPPED_LISTED: usize = 100;

/// A skipped entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name for display, relative to the directory or archive, cut.
    pub member: Printable,
    /// The reason.
    pub why: SkipReason,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.member, self.why)
    }
}

/// Counts a skipped entry, and lists it if it is one of the first.
pub(crate) fn skip(listed: &mut Vec<Skipped>, total: &mut u64, member: Printable, why: SkipReason) {
    *total = total.saturating_add(1);
    if listed.len() < MAX_SKIPPED_LISTED {
        listed.push(Skipped { member, why });
    }
}
