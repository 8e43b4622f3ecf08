//! What an upload may unpack to.

use plumbline_core::ReceiveLimits;

use crate::member::{DEFAULT_DEPTH, DEFAULT_PATH_BYTES, NameLimits, StreamLimits};

/// Left-out members that are named; the rest are only counted. Default 100: enough to see the pattern.
pub const MAX_SKIPPED_LISTED: usize = 100;

/// What one archive may unpack to. Checked while it streams, and sizes before their bytes are read, so that neither a
/// compression bomb nor a claim costs more than the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractLimits {
    /// Bytes of the contents of all members, written or not. Default 16 GiB.
    pub unpacked_bytes: u64,
    /// Members, written or not. Default 100,000.
    pub entries: u64,
    /// Bytes of a name. Default 4,096.
    pub path_bytes: usize,
    /// Directories one inside the other. Default 64.
    pub depth: usize,
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
            path_bytes: DEFAULT_PATH_BYTES,
            depth: DEFAULT_DEPTH,
        }
    }
}

impl ExtractLimits {
    pub(crate) fn stream(&self) -> StreamLimits {
        let names = NameLimits { path_bytes: self.path_bytes, depth: self.depth };
        StreamLimits { unpacked_bytes: self.unpacked_bytes, entries: self.entries, names, plain_tar: false }
    }
}
