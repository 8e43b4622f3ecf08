//! How a directory is packed, and what was left out.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use plumbline_core::ReceiveLimits;
use plumbline_core::limits::ARCHIVE_ENTRIES;

use crate::disk::Disk;
use crate::gzip::{DEFAULT_LEVEL, default_threads};
use crate::layout::LEFT_OUT_FILE;
use crate::member::NameLimits;
use crate::walk::LeftOut;

/// Left-out files that are named; the rest are only counted. Default 100: enough to see the pattern.
pub const MAX_SKIPPED_LISTED: usize = 100;

/// How a directory is packed. Neither the number of threads nor the moment changes the bytes that come out.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// Threads that compress, beside the caller's; with 1 the caller's own compresses. Default: the cores of this machine, at most
    /// eight.
    pub threads: NonZeroUsize,
    /// Level of gzip, 0 to 9. Default 6.
    pub level: u32,
    /// The time of modification that all members get, in seconds since 1970. `None`, the default: each keeps its own, in whole
    /// seconds.
    pub mtime: Option<u64>,
    /// Files and directories, at most. Default [`ARCHIVE_ENTRIES`].
    pub entries: u64,
    /// What names may be like. Default: what fits into a results archive.
    pub names: NameLimits,
    /// Whether a name that is too long or too deep is an error. `false`, the default: the file is left out.
    pub refuse_names: bool,
    /// The name of a member that says in one line what is lost, written only where something is: entries that were left out, except
    /// sockets, devices, links to what is packed itself, and files that were removed meanwhile. Default: none.
    pub list_lost: Option<&'static str>,
    /// Bytes of the packed stream, at most. Default: as many as there are.
    pub max_bytes: Option<u64>,
    /// Files that are not packed wherever they are below the directory: by their whole path, not by their name. The output itself,
    /// where it is written into the directory that is packed.
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
    /// For processes that must stay small: no threads but the caller's.
    #[must_use]
    pub fn single_threaded() -> Self {
        Self { threads: NonZeroUsize::MIN, ..Self::default() }
    }

    /// For a directory that is going to be a result: under the limits of an upload, where nothing is left out because of its name,
    /// and [`LEFT_OUT_FILE`] lists what is lost.
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

/// Something below the directory that is not in the archive, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path relative to the directory, escaped and cut: for people.
    pub member: String,
    /// Why it is not there.
    pub why: LeftOut,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.member, self.why)
    }
}
