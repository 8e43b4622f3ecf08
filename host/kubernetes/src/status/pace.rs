//! How often what is written.

use std::time::Duration;

/// How often the status is written at most and at least. The defaults are for clusters; tests have less time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// Between two writes of the status at least: 1 s. Progress of a busy plugin would otherwise be hundreds of requests a second.
    pub pause: Duration,
    /// Between two writes of the status at most: 15 s, so that a reader can tell a dead aggregator from a quiet one.
    pub heartbeat: Duration,
    /// Between two writes of the status in full at least: 60 s. It is large.
    pub full: Duration,
    /// How long one request may take: 10 s. A server that takes longer is asked again.
    pub attempt: Duration,
    /// How long the last status is tried to be written: 2 min. It is the one that must arrive.
    pub last: Duration,
    /// Between two annotations on pods of plugins at least: 200 ms, so that 5,000 nodes are no burden to the API server.
    pub worker: Duration,
    /// Between two annotations on the same pod, if nothing but the time of the last heartbeat changes: 5 min, and up to a minute more.
    pub worker_refresh: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(1),
            heartbeat: Duration::from_secs(15),
            full: Duration::from_secs(60),
            attempt: Duration::from_secs(10),
            last: Duration::from_secs(120),
            worker: Duration::from_millis(200),
            worker_refresh: Duration::from_secs(300),
        }
    }
}
