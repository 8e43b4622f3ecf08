//! What an upload may unpack to.

use plumbline_core::ReceiveLimits;
use plumbline_core::limits::RESULT_NAME_BYTES;

use crate::member::{NameLimits, StreamLimits};

/// Left-out members that are named; the rest are only counted. Default 100: enough to see the pattern.
pub const MAX_SKIPPED_LISTED: usize = 100;

/// What one archive may unpack to. Checked while it streams, and sizes before their bytes are read, so that neither a
/// compression bomb nor a claim costs more than the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractLimits {
    /// Bytes of the contents of all members, written or not. Default 16 GiB.
    pub unpacked_bytes: u64,
    /// Members, written or not; also files and directories written, counting directories that appear only in names of files.
    /// Default 100,000.
    pub entries: u64,
    /// Names. Default [`NameLimits::RESULT`].
    pub names: NameLimits,
    /// Bytes of all names together. Default [`RESULT_NAME_BYTES`].
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
