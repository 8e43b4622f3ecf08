//! What is asked for.

use std::path::PathBuf;
use std::time::Duration;

/// How far back logs are read unless something else is said: an hour, as other tools of the field do it.
pub const DEFAULT_MINUTES: u64 = 60;

/// What is kept at most unless something else is said: 256 MiB. An hour of a busy node is a few tens of MiB.
pub const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// How long `journalctl` may take. It reads hundreds of MiB within seconds; one that hangs on a damaged file is ended.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);

/// Which logs, and how many of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where the machine's file system is.
    pub root: PathBuf,
    /// How far back; zero for everything that there is.
    pub since: Duration,
    /// Bytes of the newest lines that are kept.
    pub max_bytes: u64,
    /// How long `journalctl` may take.
    pub time_limit: Duration,
    /// A program and its first arguments that, followed by a root, a program and arguments, executes that program in that root: see
    /// [`crate::node_logs::enter`]. Without one, `journalctl` is asked only for the root `/`.
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
