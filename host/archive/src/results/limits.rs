//! What a results archive may hold.

use plumbline_core::limits::ARCHIVE_ENTRIES;

use crate::extract::ExtractLimits;
use crate::member::{NameLimits, StreamLimits};
use crate::walk::WalkLimits;

/// Bytes of `meta/config.json` and of `meta/info.json`, which are read whole. Default 16 MiB: with the names of 10,000 plugins it is
/// not one.
pub const MAX_META_BYTES: u64 = 16 << 20;

/// Plugins of one archive. Default 10,000: far more than any run has.
pub(super) const MAX_PLUGINS: usize = 10_000;

/// What a results archive may hold. Reading takes memory per file (its name and some 100 bytes) and none per byte of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLimits {
    /// Files and directories. Default [`ARCHIVE_ENTRIES`]: what is packed at most.
    pub entries: u64,
    /// Bytes of all files, unpacked. Default 1 TiB: an archive of 100 GiB of logs, which compress ten to one.
    pub unpacked_bytes: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { entries: ARCHIVE_ENTRIES, unpacked_bytes: 1 << 40 }
    }
}

impl ReadLimits {
    /// For unpacking what may be read.
    #[must_use]
    pub fn extract(&self) -> ExtractLimits {
        ExtractLimits {
            unpacked_bytes: self.unpacked_bytes,
            entries: self.entries,
            names: NameLimits::default(),
            name_bytes: u64::MAX,
        }
    }

    pub(super) fn stream(&self) -> StreamLimits {
        StreamLimits {
            unpacked_bytes: self.unpacked_bytes,
            entries: self.entries,
            names: NameLimits::default(),
            plain_tar: true,
        }
    }

    pub(super) fn walk(&self) -> WalkLimits {
        WalkLimits { entries: self.entries, names: NameLimits::default() }
    }
}
