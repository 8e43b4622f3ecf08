//! The write intervals of the status.

use std::time::Duration;

/// The write intervals of the status. The defaults are for clusters, and tests use shorter ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// Minimum interval between writes of the status: 1 s. A busy plugin's progress would otherwise
    /// cause hundreds of requests per second.
    pub pause: Duration,
    /// Maximum interval between writes of the status: 15 s, so that readers can tell a dead
    /// aggregator from an idle one.
    pub heartbeat: Duration,
    /// Minimum interval between writes of the full status: 60 s, because it is large.
    pub full: Duration,
    /// Timeout of one request: 10 s. A slower request is retried.
    pub attempt: Duration,
    /// How long the last status is retried: 2 min. This is the one that must arrive.
    pub last: Duration,
    /// Minimum interval between annotations on pods of plugins: 200 ms, so that 5,000 nodes do not
    /// overload the API server.
    pub worker: Duration,
    /// Interval between annotations on the same pod if only the time of the last heartbeat changes:
    /// 5 min, and up to a minute more.
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
