//! The limits of modules and uploads, each with a default and its reason.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The resource limits of one module call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModuleLimits {
    /// The wall-clock time of one call, in seconds. Default 300: a 1 GiB JUnit file takes less than
    /// 20 s on a slow core.
    pub wall_seconds: u64,
    /// The linear memory of the instance, in bytes. Default 256 MiB: a runtime such as CPython
    /// needs about 60 MiB.
    pub memory: u64,
    /// The number of elements of all tables together. Default 100,000: an interpreter with its
    /// function table needs about 20,000.
    pub table_elements: u64,
    /// The stack of the guest, in bytes. Default 1 MiB. An engine has one stack size, so a plugin
    /// cannot request more.
    pub stack: u64,
    /// The total size in bytes of the files of a result set that a call may read. Default 4 GiB.
    pub input_bytes: u64,
    /// The number of items that a call may emit. Default 5,000,000.
    pub items: u64,
    /// The total size in bytes of names, metadata and details that a call emits. Default 2 GiB.
    pub output_bytes: u64,
    /// The size of one item, in bytes. Default 16 MiB: the largest failure text known is 3 MiB.
    pub item_bytes: u64,
    /// The number of levels of the tree. Default 64.
    pub depth: u32,
    /// The number of bytes that one host call may copy between host and guest. Default 32 MiB.
    pub hostcall_bytes: u64,
    /// The size in bytes of log lines, standard output and standard error together. Default 64 KiB.
    /// The rest is dropped, which is logged once.
    pub log_bytes: u64,
}

impl Default for ModuleLimits {
    fn default() -> Self {
        Self {
            wall_seconds: 300,
            memory: 256 << 20,
            table_elements: 100_000,
            stack: 1 << 20,
            input_bytes: 4 << 30,
            items: 5_000_000,
            output_bytes: 2 << 30,
            item_bytes: 16 << 20,
            depth: 64,
            hostcall_bytes: 32 << 20,
            log_bytes: 64 << 10,
        }
    }
}

impl ModuleLimits {
    /// Returns the maximum that a definition or module may request by default. The values are
    /// several times the defaults, and within what a machine that aggregates can spare.
    pub fn cap() -> Self {
        Self {
            wall_seconds: 3600,
            memory: 1 << 30,
            table_elements: 250_000,
            stack: 1 << 20,
            input_bytes: 64 << 30,
            items: 50_000_000,
            output_bytes: 16 << 30,
            item_bytes: 64 << 20,
            depth: 128,
            hostcall_bytes: 128 << 20,
            log_bytes: 1 << 20,
        }
    }
}

/// The maximum size of a component in bytes: 64 MiB. A component of CPython has 18 MiB. Compilation
/// takes memory and time in proportion to the size, so the size is checked first.
pub const MAX_COMPONENT_BYTES: u64 = 64 << 20;

/// The memory in bytes that compiling one component may take: 1 GiB, or less in a pod
/// ([`module_memory`]).
pub const COMPILE_MEMORY: u64 = 1 << 30;

/// The CPU time that compiling one component may take: 300 s. CPython takes a few seconds.
pub const COMPILE_CPU_SECONDS: u64 = 300;

/// The default memory limit of the aggregator's pod: 1 GiB. The share for modules
/// ([`module_memory`]) is enough for three calls at their default limit, or to compile an
/// interpreter.
pub const POD_MEMORY: u64 = 1 << 30;

/// Returns the memory in bytes for modules and their compilation, in an aggregator with the memory
/// limit `limit`. The rest, a quarter and at least 128 MiB, is for everything else.
pub fn module_memory(limit: u64) -> u64 {
    let rest = (limit / 4).max(128 << 20);
    limit.saturating_sub(rest).max(limit / 2)
}

/// The number of different custom statuses that one module call may emit: 1,000. Real formats use a
/// handful, and every item further up has a list of them.
pub const CALL_STATUSES: u64 = 1_000;

/// The maximum number of path components in a results archive: 64. Real results nest eight deep.
/// Packing and reading use the same limit.
pub const ARCHIVE_DEPTH: usize = 64;

/// The maximum number of path components in an uploaded result: 60. The archive adds the four of
/// `plugins/NAME/results/NODE`, so every accepted result fits into it.
pub const RESULT_DEPTH: usize = ARCHIVE_DEPTH - 4;

/// The maximum length of a path in a results archive, in bytes: 4,096, the `PATH_MAX` of Linux.
pub const ARCHIVE_PATH_BYTES: usize = 4096;

/// The maximum length of a path in an uploaded result, in bytes: 3,072. The rest of
/// [`ARCHIVE_PATH_BYTES`] is for the prefix: the directory of the run, and at most 340 bytes for
/// plugin and node.
pub const RESULT_PATH_BYTES: usize = 3072;

/// The maximum total length of all file and directory names in an uploaded result, in bytes: 32
/// MiB. They are in memory while the result is read.
pub const RESULT_NAME_BYTES: u64 = 32 << 20;

/// The maximum number of files and directories of a results archive: 2,000,000. Packing and reading
/// use the same limit. It is twice the default of [`ReceiveLimits::run_entries`], because the run
/// adds its own documents.
pub const ARCHIVE_ENTRIES: u64 = 2_000_000;

/// The maximum disk space in bytes that a run reserves for its journal, errors, result trees and
/// archive: 16 MiB.
pub const DISK_RESERVE: u64 = 16 << 20;

/// The divisor of the free disk space for the reserve of a run: it takes at most a sixteenth.
pub const DISK_RESERVE_SHARE: u64 = 16;

/// The number of entries of a cluster timeline. With an outage of 5,000 nodes, each node has two.
pub const TIMELINE_ENTRIES: usize = 50_000;

/// The size of a cluster timeline in bytes: 16 MiB.
pub const TIMELINE_BYTES: u64 = 16 << 20;

/// The maximum size of the head of a request to the aggregator, and of the buffer of its connection,
/// in bytes: 16 KiB. With the longest names, the head of a worker has about 3 KiB.
pub const HEAD_BYTES: usize = 16 << 10;

/// The memory for bodies that the aggregator holds while they arrive, in bytes: 16 MiB. Each plugin
/// has a share. Messages of all plugins together never take more than twice as much.
pub const BODY_MEMORY: usize = 16 << 20;

/// The maximum memory of an error record from a worker, in bytes: 16 KiB. An error is a sentence and
/// a few details.
pub const ERROR_BYTES: usize = 16 << 10;

/// The maximum memory of all error records of a run, in bytes: 64 MiB. Above it, a record has
/// [`LEAST_ERROR_BYTES`].
pub const ERRORS_BYTES: usize = 64 << 20;

/// The memory that every error record may take, in bytes: 2 KiB.
pub const LEAST_ERROR_BYTES: usize = 2 << 10;

/// The maximum number of failed uploads of a result: 100. The journal keeps each of them. Uploads for
/// which the aggregator has no disk space do not count: workers retry them for hours.
pub const FAILED_UPLOADS: u32 = 100;

/// The maximum number of consecutive members of a gzip stream without content: 1,000. Such members
/// take time without a result that other limits count. Files in blocks end with one of them.
pub const EMPTY_GZIP_MEMBERS: u32 = 1_000;

/// The maximum size of an archive that is downloaded from a bucket, in bytes: 8 GiB, as for blobs of
/// registries. Up to eight are on disk at the same time.
pub const BUCKET_OBJECT_BYTES: u64 = 8 << 30;

/// The resource limits of uploads. The defaults leave room for the journal of a busy node and stop
/// a malicious upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReceiveLimits {
    /// The size of a body as sent, in bytes. Default 4 GiB.
    pub body_bytes: u64,
    /// The total unpacked size of all members of an archive, in bytes. Default 16 GiB.
    pub unpacked_bytes: u64,
    /// The number of files and directories of an upload, including directories that only occur in
    /// names of files. Default 100,000.
    pub entries: u64,
    /// The number of files and directories of all uploads of a run. Default 1,000,000: ten plugins
    /// on 5,000 nodes with twenty files each. At most half of [`ARCHIVE_ENTRIES`].
    pub run_entries: u64,
    /// The disk space of all results of a plugin and its uploads in progress, in bytes. Default 64
    /// GiB: 13 MiB from each of 5,000 nodes.
    pub plugin_bytes: u64,
    /// The disk space of all results of a run and its uploads in progress, in bytes. Default 256
    /// GiB.
    pub run_bytes: u64,
    /// The size of a progress update, hello or heartbeat, in bytes. Default 1 MiB.
    pub message_bytes: u64,
    /// The time in seconds within which the head of a request must arrive. Default 10.
    pub head_seconds: u64,
    /// The time in seconds without a single byte of a body after which an upload is aborted.
    /// Default 60.
    pub idle_seconds: u64,
    /// The time for a whole upload, in seconds. Default 6 hours.
    pub upload_seconds: u64,
    /// The number of open connections. Default 16,384: 5,000 nodes with three plugins each.
    pub connections: usize,
}

impl Default for ReceiveLimits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 30,
            unpacked_bytes: 16 << 30,
            entries: 100_000,
            run_entries: ARCHIVE_ENTRIES / 2,
            plugin_bytes: 64 << 30,
            run_bytes: 256 << 30,
            message_bytes: 1 << 20,
            head_seconds: 10,
            idle_seconds: 60,
            upload_seconds: 6 * 3600,
            connections: 16_384,
        }
    }
}

impl ReceiveLimits {
    /// Returns [`ReceiveLimits::idle_seconds`] as a duration.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_pod_and_of_modules_agree() {
        let modules = module_memory(POD_MEMORY);
        assert_eq!(modules, 768 << 20);
        assert_eq!(modules / ModuleLimits::default().memory, 3);
        // In a small pod, modules get half of the memory and everything else the other half.
        assert_eq!(module_memory(64 << 20), 32 << 20);
    }
}
