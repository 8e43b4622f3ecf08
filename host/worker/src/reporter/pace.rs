//! How often and how long things are waited for.

use std::time::Duration;

/// How often, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between looks at the pod, where it may not be watched.
    pub pod: Duration,
    /// The same once the reporter is told to end.
    pub hurry: Duration,
    /// Until a watch that has ended is begun anew.
    pub again: Duration,
    /// How long the last look at the pod may take.
    pub last_look: Duration,
    /// How long the condition is tried to be written.
    pub patience: Duration,
    /// The same once the reporter is told to end: less than the 30 seconds that a pod has by default, with the wait before it.
    pub last_patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pod: Duration::from_secs(5),
            hurry: Duration::from_millis(500),
            again: Duration::from_secs(1),
            last_look: Duration::from_secs(3),
            // An API server that is restarted or moved is back within this time, and so is a token that was rotated.
            patience: Duration::from_secs(120),
            last_patience: Duration::from_secs(15),
        }
    }
}
