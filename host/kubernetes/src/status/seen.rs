//! The observed state of a run.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::run_status::{RunPhase, RunStatus};

use super::waiting::Waiting;

/// The age of the last heartbeat, 60 s, after which the aggregator is probably gone. It writes
/// every 15 s.
pub const STALE: SignedDuration = SignedDuration::from_secs(60);

/// The observed state of a run in the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The namespace of the run.
    pub namespace: String,
    /// The name of the aggregator's pod.
    pub pod: String,
    /// The status in the pod's annotation.
    pub status: RunStatus,
    /// When the pod was created.
    pub began: Option<Timestamp>,
    /// Number of restarts of the aggregator's container.
    pub restarts: u32,
    /// What pods of plugins wait for, sorted by plugin and node.
    pub waiting: Vec<Waiting>,
}

impl Seen {
    /// Returns true if the run has finished or failed. Its status will not change any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.status.status, RunPhase::Complete | RunPhase::Failed)
    }

    /// Returns the time since the last heartbeat, if it exceeds [`STALE`] and the run is not over.
    /// Returns `None` for aggregators without heartbeats.
    #[must_use]
    pub fn silent_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let silent = now.duration_since(self.status.heartbeat.filter(|_| !self.is_over())?);
        (silent > STALE).then_some(silent)
    }

    /// Returns true if the status is incomplete. [`super::full`] may have the rest.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.status.compacted.is_some()
    }
}
