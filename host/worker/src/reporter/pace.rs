//! The intervals and timeouts of the reporter.

use std::time::Duration;

/// The intervals and timeouts of the reporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Interval between reads of the pod, if it may not be watched.
    pub pod: Duration,
    /// The same interval after the reporter was asked to stop.
    pub hurry: Duration,
    /// Delay before an ended watch is restarted.
    pub again: Duration,
    /// Timeout of the last read of the pod.
    pub last_look: Duration,
    /// How long writing the condition is retried.
    pub patience: Duration,
    /// The same limit after the reporter was asked to stop. Together with the wait before it, it is
    /// less than a pod's default grace period of 30 s.
    pub last_patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pod: Duration::from_secs(5),
            hurry: Duration::from_millis(500),
            again: Duration::from_secs(1),
            last_look: Duration::from_secs(3),
            // An API server that restarts or moves is back within this time, and so is a rotated
            // token.
            patience: Duration::from_secs(120),
            last_patience: Duration::from_secs(15),
        }
    }
}
