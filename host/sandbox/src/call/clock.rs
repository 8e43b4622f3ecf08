//! The wall clock of one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::failure::Stop;
use crate::failure::Unit;

/// The time limit of a call. It starts with the call, and time spent in the host counts.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    start: Instant,
    /// `None` if the deadline exceeds the range of the clock.
    deadline: Option<Instant>,
    seconds: u64,
    given_up: Arc<AtomicBool>,
}

impl Clock {
    /// Starts a clock. The call ends early when `given_up` is set.
    pub(crate) fn start(seconds: u64, given_up: Arc<AtomicBool>) -> Self {
        let start = Instant::now();
        Self { start, deadline: start.checked_add(Duration::from_secs(seconds)), seconds, given_up }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the remaining time, at least zero. `None` means that there is no deadline.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns an error if the call must end.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Stop::Gone);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err(Stop::limit("wall-seconds", self.seconds, Unit::Seconds))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_over_at_once_and_endless_time_never() {
        let clock = Clock::start(0, Arc::default());
        assert_eq!(clock.check(), Err(Stop::limit("wall-seconds", 0, Unit::Seconds)));
        assert_eq!(clock.left(), Some(Duration::ZERO));
        let clock = Clock::start(u64::MAX, Arc::default());
        assert_eq!(clock.check(), Ok(()));
        assert_eq!(clock.left(), None);
    }

    #[test]
    fn giving_up_ends_it() {
        let given_up = Arc::new(AtomicBool::new(false));
        let clock = Clock::start(1000, Arc::clone(&given_up));
        assert_eq!(clock.check(), Ok(()));
        given_up.store(true, Ordering::Relaxed);
        assert_eq!(clock.check(), Err(Stop::Gone));
    }
}
