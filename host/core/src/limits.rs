//! What modules and uploads may use. Every bound has a default and its reason.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one call of a module may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModuleLimits {
    /// Wall clock of one call, in seconds. Default 300: a 1 GiB JUnit file takes under 20 s on a slow core.
    pub wall_seconds: u64,
    /// Linear memory of the instance, in bytes. Default 256 MiB: a runtime such as CPython needs about 60 MiB.
    pub memory: u64,
    /// Elements of all tables together. Default 100,000: an interpreter with its function table needs about 20,000.
    pub table_elements: u64,
    /// Stack of the guest in bytes. Default 1 MiB. One engine has one stack size: a plugin cannot ask for more.
    pub stack: u64,
    /// Bytes of all files of a result set together that a call may read. Default 4 GiB.
    pub input_bytes: u64,
    /// Items that a call may emit. Default 5,000,000.
    pub items: u64,
    /// Bytes of everything emitted by a call: names, meta and details. Default 2 GiB.
    pub output_bytes: u64,
    /// Bytes of one item. Default 16 MiB: the largest failure text seen in the wild is 3 MiB.
    pub item_bytes: u64,
    /// Levels of the tree. Default 64.
    pub depth: u32,
    /// Bytes copied across the boundary by one host call. Default 32 MiB.
    pub hostcall_bytes: u64,
    /// Bytes of log lines, standard output and standard error together. Default 64 KiB; the rest is dropped, and said once.
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
    /// The most that a definition or module may ask for, unless the operator says otherwise: several times the defaults, and what
    /// a machine that aggregates can spare.
    #[must_use]
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

/// The largest component that is compiled, in bytes: 64 MiB. A component of CPython is 18 MiB; compilation takes memory and time
/// in proportion to the size, so this is checked before it begins.
pub const MAX_COMPONENT_BYTES: u64 = 64 << 20;

/// Memory that compiling one component may take, 1 GiB, or what there is in a pod ([`module_memory`]).
pub const COMPILE_MEMORY: u64 = 1 << 30;

/// Processor time that compiling one component may take, 300 s. CPython takes some seconds.
pub const COMPILE_CPU_SECONDS: u64 = 300;

/// The default limit on the memory of the aggregator's pod, 1 GiB. What it leaves for modules ([`module_memory`]) is enough for three
/// calls at their default limit, or to compile an interpreter.
pub const POD_MEMORY: u64 = 1 << 30;

/// Memory for modules and their compilation in an aggregator whose own limit on memory is `limit`, in bytes. The rest, a quarter and at
/// least 128 MiB, is for everything else.
#[must_use]
pub fn module_memory(limit: u64) -> u64 {
    let rest = (limit / 4).max(128 << 20);
    limit.saturating_sub(rest).max(limit / 2)
}

/// Different statuses of its own that one call of a module may emit: 1,000. Real formats use a handful, and every item above has a list
/// of them.
pub const CALL_STATUSES: u64 = 1_000;

/// Components of a path in a results archive, 64: real results nest eight deep. Packing and reading use the same bound.
pub const ARCHIVE_DEPTH: usize = 64;

/// Components of a path in an uploaded result, 60. In the archive it has four more, `plugins/NAME/results/NODE`, so every result
/// that is accepted also fits into the archive.
pub const RESULT_DEPTH: usize = ARCHIVE_DEPTH - 4;

/// Bytes of a path in a results archive, 4,096: `PATH_MAX` of Linux.
pub const ARCHIVE_PATH_BYTES: usize = 4096;

/// Bytes of a path in an uploaded result, 3,072. The rest of [`ARCHIVE_PATH_BYTES`] is for what is in front of it: the directory of
/// the run, and at most 340 bytes for plugin and node.
pub const RESULT_PATH_BYTES: usize = 3072;

/// Bytes of the names of all files and directories of an uploaded result, 32 MiB. They are held in memory while the result is read.
pub const RESULT_NAME_BYTES: u64 = 32 << 20;

/// Files and directories of a results archive, 2,000,000. Packing and reading use the same bound. It is twice the default of
/// [`ReceiveLimits::run_entries`], because the run adds its own documents.
pub const ARCHIVE_ENTRIES: u64 = 2_000_000;

/// What one upload may use. The defaults leave room for a journal of a busy node and end a hostile one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReceiveLimits {
    /// Bytes of a body as sent. Default 4 GiB.
    pub body_bytes: u64,
    /// Bytes of all members of an archive, unpacked. Default 16 GiB.
    pub unpacked_bytes: u64,
    /// Files and directories of an upload, counting directories that appear only in names of files. Default 100,000.
    pub entries: u64,
    /// Files and directories of all uploads of a run. Default 1,000,000: ten plugins on 5,000 nodes, twenty files each. At most half
    /// of [`ARCHIVE_ENTRIES`].
    pub run_entries: u64,
    /// Bytes that all results of a plugin take on disk, with uploads under way. Default 64 GiB: 13 MiB from each of 5,000 nodes.
    pub plugin_bytes: u64,
    /// Bytes that all results of a run take on disk, with uploads under way. Default 256 GiB.
    pub run_bytes: u64,
    /// Bytes of a progress update, hello or heartbeat. Default 1 MiB.
    pub message_bytes: u64,
    /// Seconds within which the head of a request must have arrived. Default 10.
    pub head_seconds: u64,
    /// Seconds without one byte of a body after which an upload is given up. Default 60.
    pub idle_seconds: u64,
    /// Seconds for a whole upload. Default 6 hours.
    pub upload_seconds: u64,
    /// Connections open at once. Default 16,384: 5,000 nodes with three plugins each.
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
    /// [`ReceiveLimits::idle_seconds`] as a duration.
    #[must_use]
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
