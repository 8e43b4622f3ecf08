//! Options for packing a directory, and the entries that were skipped.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use plumbline_core::ReceiveLimits;
use plumbline_core::limits::ARCHIVE_ENTRIES;

use crate::disk::Disk;
use crate::gzip::{DEFAULT_LEVEL, default_threads};
use crate::layout::LEFT_OUT_FILE;
use crate::member::NameLimits;
use crate::walk::SkipReason;

/// The maximum number of skipped files that are listed. All of them are counted. 100 are enough to
/// see a pattern.
pub const MAX_SKIPPED_LISTED: usize = 100;

/// The options for packing a directory. The output depends neither on the number of threads nor on
/// the current time.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// The number of compression threads besides the caller's. With 1, the caller's thread
    /// compresses. Default: the cores of this machine, at most eight.
    pub threads: NonZeroUsize,
    /// The gzip level, 0 to 9. Default 6.
    pub level: u32,
    /// The modification time of all members, in seconds since 1970. With `None`, the default, each
    /// keeps its own, in whole seconds.
    pub mtime: Option<u64>,
    /// The maximum number of files and directories. Default [`ARCHIVE_ENTRIES`].
    pub entries: u64,
    /// The limits on names. Default: those of a results archive.
    pub names: NameLimits,
    /// Whether a name that is too long or too deep is an error. Default `false`: the file is
    /// skipped.
    pub refuse_names: bool,
    /// The name of a member that lists lost entries in one line. It is only written if there are
    /// any.
    ///
    /// Lost entries are skipped entries other than sockets, devices, links to packed files, and
    /// files that were removed meanwhile. Default: no list.
    pub list_lost: Option<&'static str>,
    /// The maximum size of the packed stream in bytes. Default: unlimited.
    pub max_bytes: Option<u64>,
    /// Files inside the directory that are not packed, by path and not by name. An example is the
    /// output file, if it is inside the packed directory.
    pub exclude: Vec<PathBuf>,
    /// The file system that [`super::write_archive`] writes to.
    pub disk: Disk,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            threads: default_threads(),
            level: DEFAULT_LEVEL,
            mtime: None,
            entries: ARCHIVE_ENTRIES,
            names: NameLimits::default(),
            refuse_names: false,
            list_lost: None,
            max_bytes: None,
            exclude: Vec::new(),
            disk: Disk::default(),
        }
    }
}

impl PackOptions {
    /// Returns options for processes that must stay small: no threads besides the caller's.
    #[must_use]
    pub fn single_threaded() -> Self {
        Self { threads: NonZeroUsize::MIN, ..Self::default() }
    }

    /// Returns options for a directory that becomes a result. The limits of an upload apply,
    /// invalid names are errors, and [`LEFT_OUT_FILE`] lists lost entries.
    #[must_use]
    pub fn for_upload(limits: &ReceiveLimits) -> Self {
        Self {
            entries: limits.entries,
            names: NameLimits::RESULT,
            refuse_names: true,
            list_lost: Some(LEFT_OUT_FILE),
            ..Self::default()
        }
    }
}

/// An entry of the directory that is not in the archive, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path for display, relative to the directory, escaped and cut.
    pub member: String,
    /// The reason.
    pub why: SkipReason,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.member, self.why)
    }
}
