//! The settings of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::process::Kind;

/// A run in a large cluster.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The program whose aggregator runs.
    pub program: PathBuf,
    /// The project that the program is from.
    pub kind: Kind,
    /// Number of DaemonSets that run on each node.
    pub plugins: usize,
    /// Number of nodes in the cluster.
    pub nodes: usize,
    /// Size of each result in bytes; `None` for a result with one passed test.
    pub bytes: Option<usize>,
    /// Number of workers that concurrently talk to the aggregator.
    pub at_once: usize,
    /// Whether uploads start only when all pods run, so that the measurement covers only the
    /// aggregator.
    pub together: bool,
    /// Whether one of the workers sends its result at 10 kB/s, for 20 s.
    pub slow: bool,
    /// Time after which the run has failed.
    pub patience: Duration,
}
