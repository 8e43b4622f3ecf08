//! The options for collecting logs.

use std::path::PathBuf;
use std::time::Duration;

/// Default age of the oldest logs, in minutes. Other tools in the field also use one hour.
pub const DEFAULT_MINUTES: u64 = 60;

/// Default size limit of the logs: 256 MiB. An hour on a busy node is a few tens of MiB.
pub const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// Default timeout of `journalctl`.
///
/// It reads hundreds of MiB within seconds. The timeout kills one that hangs on a damaged file.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);

/// Selects the logs and limits their size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The root directory of the machine's file system.
    pub root: PathBuf,
    /// The maximum age of the logs, or zero for everything.
    pub since: Duration,
    /// The maximum size of the logs in bytes. The newest lines are kept.
    pub max_bytes: u64,
    /// The timeout of `journalctl`.
    pub time_limit: Duration,
    /// The program that executes another program in a root, with its first arguments.
    ///
    /// It is called with a root, a program and the program's arguments (see
    /// [`crate::node_logs::enter`]). Without a helper, `journalctl` runs only for the root `/`.
    pub helper: Option<(PathBuf, Vec<String>)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            since: Duration::from_secs(60 * DEFAULT_MINUTES),
            max_bytes: DEFAULT_MAX_BYTES,
            time_limit: DEFAULT_TIME_LIMIT,
            helper: None,
        }
    }
}
