//! The limits for unpacking an upload.

use plumbline_core::ReceiveLimits;
use plumbline_core::limits::RESULT_NAME_BYTES;

use crate::member::{NameLimits, StreamLimits};

/// The maximum number of skipped members that are listed. All of them are counted. 100 are enough
/// to see a pattern.
pub const MAX_SKIPPED_LISTED: usize = 100;

/// The limits for unpacking one archive. They are checked while streaming, and a size is checked
/// before its bytes are read. A compression bomb or a false size therefore costs no more than the
/// limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractLimits {
    /// The total size of all members in bytes, written or not. Default 16 GiB.
    pub unpacked_bytes: u64,
    /// The number of members, written or not. Also limits the number of written files and
    /// directories, including directories that only occur in names of files. Default 100,000.
    pub entries: u64,
    /// The limits on names. Default [`NameLimits::RESULT`].
    pub names: NameLimits,
    /// The total length of all names in bytes. Default [`RESULT_NAME_BYTES`].
    pub name_bytes: u64,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        Self::from(&ReceiveLimits::default())
    }
}

impl From<&ReceiveLimits> for ExtractLimits {
    fn from(limits: &ReceiveLimits) -> Self {
        Self {
            unpacked_bytes: limits.unpacked_bytes,
            entries: limits.entries,
            names: NameLimits::RESULT,
            name_bytes: RESULT_NAME_BYTES,
        }
    }
}

impl ExtractLimits {
    pub(crate) fn stream(&self) -> StreamLimits {
        let Self { unpacked_bytes, entries, names, .. } = *self;
        StreamLimits { unpacked_bytes, entries, names, plain_tar: false }
    }
}
