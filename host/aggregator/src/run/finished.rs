//! What a run leaves to whoever started it.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::run_status::RunStatus;
use plumbline_core::{PluginName, RunId, Verdict};

use crate::postprocess::Outcome;

/// A run that has come to its end.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub started: Timestamp,
    /// How each plugin came out, in the order of the command line.
    pub plugins: Vec<PluginOutcome>,
    /// Its last status.
    pub status: RunStatus,
    /// What it comes to.
    pub verdict: Verdict,
    /// The archive.
    pub archive: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its digest: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// How a plugin came out.
#[derive(Debug, Clone)]
pub struct PluginOutcome {
    /// The plugin.
    pub plugin: PluginName,
    /// Its tree.
    pub outcome: Outcome,
    /// From its launch to its tree, in this life of the run; `None` for a plugin that was complete before.
    pub elapsed: Option<Duration>,
}
