//! Result of a run.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::run_status::RunStatus;
use plumbline_core::{PluginName, RunId, Verdict};

use crate::postprocess::Outcome;

/// A finished run.
#[derive(Debug, Clone)]
pub struct Finished {
    /// ID of the run.
    pub run: RunId,
    /// Time of its start.
    pub started: Timestamp,
    /// Outcome of each plugin, in the order of the command line.
    pub plugins: Vec<PluginOutcome>,
    /// Last status of the run.
    pub status: RunStatus,
    /// Verdict of the run.
    pub verdict: Verdict,
    /// Path of the archive.
    pub archive: PathBuf,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// SHA-256 of the archive as 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// Outcome of a plugin.
#[derive(Debug, Clone)]
pub struct PluginOutcome {
    /// Name of the plugin.
    pub plugin: PluginName,
    /// Outcome of post-processing.
    pub outcome: Outcome,
    /// Time from the plugin's launch to its tree. `None` if the plugin was not launched.
    pub elapsed: Option<Duration>,
}
