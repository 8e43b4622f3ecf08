//! A run as it was seen.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::run_status::{RunPhase, RunStatus};

use super::waiting::Waiting;

/// A heartbeat older than this, 60 s, is a sign that the aggregator is gone: it writes every 15 s.
pub const STALE: SignedDuration = SignedDuration::from_secs(60);

/// A run as it was seen in the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The namespace of the run.
    pub namespace: String,
    /// The name of the aggregator's pod.
    pub pod: String,
    /// The status that the pod carries.
    pub status: RunStatus,
    /// When the pod was created.
    pub began: Option<Timestamp>,
    /// How often the aggregator's container was started again.
    pub restarts: u32,
    /// What keeps pods of plugins from running, by plugin and node.
    pub waiting: Vec<Waiting>,
}

impl Seen {
    /// The run has ended, well or badly: its status will not change any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.status.status, RunPhase::Complete | RunPhase::Failed)
    }

    /// How long the aggregator has not been heard of, if the run is not over and that is longer than [`STALE`]. `None` for aggregators
    /// that tell no heartbeat.
    #[must_use]
    pub fn silent_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let silent = now.duration_since(self.status.heartbeat.filter(|_| !self.is_over())?);
        (silent > STALE).then_some(silent)
    }

    /// Something is left out of the status: [`super::full`] may have it.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.status.compacted.is_some()
    }
}
