//! The limits of a results archive.

use plumbline_core::limits::ARCHIVE_ENTRIES;

use crate::extract::ExtractLimits;
use crate::member::{NameLimits, StreamLimits};
use crate::walk::WalkLimits;

/// The maximum size of `meta/config.json` and `meta/info.json` in bytes, which are read completely.
/// Default 16 MiB: typical names of 10,000 plugins take less than 1 MiB.
pub const MAX_META_BYTES: u64 = 16 << 20;

/// The maximum number of plugins in one archive. Default 10,000, far more than any run has.
pub(super) const MAX_PLUGINS: usize = 10_000;

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
