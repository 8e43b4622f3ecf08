//! The schedule of retries.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;

/// The maximum pause that an aggregator can request. A worker that sleeps for an hour looks dead.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The policy for retrying the upload of a result or a partial result.
///
/// Pauses double from `first` to `max`. Each is extended at random by up to its own length, so that
/// workers that failed together do not retry together.
///
/// An attempt in progress continues after the deadline while bytes are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// No attempt starts later than this after the first one. The last one starts exactly then.
    /// Default 10 min, longer than rescheduling an aggregator takes.
    pub deadline: Duration,
    /// The first pause. Default 500 ms.
    pub first: Duration,
    /// The maximum pause before the random extension. Default 30 s.
    pub max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(600), first: Duration::from_millis(500), max: Duration::from_secs(30) }
    }
}

impl RetryPolicy {
    /// Returns a policy with a single attempt.
    #[must_use]
    pub fn never() -> Self {
        Self { deadline: Duration::ZERO, ..Self::default() }
    }

    pub(super) fn schedule(&self) -> Schedule {
        let pauses = ExponentialBuilder::new()
            .with_min_delay(self.first)
            .with_max_delay(self.max)
            .with_factor(2.0)
            .with_jitter()
            .without_max_times()
            .build();
        Schedule { pauses, deadline: self.deadline }
    }
}

/// The pauses of one upload.
pub(super) struct Schedule {
    pauses: ExponentialBackoff,
    deadline: Duration,
}

impl Schedule {
    /// Returns the next pause when `elapsed` has passed since the start of the first attempt, or
    /// `None` after the deadline.
    pub(super) fn next(&mut self, elapsed: Duration, asked: Option<Duration>) -> Option<Duration> {
        let left = self.deadline.checked_sub(elapsed).filter(|left| !left.is_zero())?;
        let pause = self.pauses.next().unwrap_or(left);
        let pause = asked.map_or(pause, |asked| pause.max(asked.min(MAX_RETRY_AFTER)));
        Some(pause.min(left))
    }
}

/// Parses the header `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_are_spread() {
        let policy = RetryPolicy { deadline: seconds(1_000_000), first: seconds(1), max: seconds(8) };
        let mut schedule = policy.schedule();
        for expected in [1, 2, 4, 8, 8, 8] {
            let pause = schedule.next(Duration::ZERO, None).unwrap();
            assert!(pause >= seconds(expected) && pause <= seconds(2 * expected), "{pause:?} for {expected} s");
        }
        let first = |_| policy.schedule().next(Duration::ZERO, None);
        let spread: std::collections::BTreeSet<_> = (0..32).map(first).collect();
        assert!(spread.len() > 8, "{spread:?}");
    }

    #[test]
    fn the_last_attempt_begins_at_the_deadline() {
        let mut schedule = RetryPolicy { deadline: seconds(10), first: seconds(60), max: seconds(60) }.schedule();
        assert_eq!(schedule.next(seconds(3), None), Some(seconds(7)));
        assert_eq!(schedule.next(seconds(10), None), None);
        assert_eq!(schedule.next(seconds(11), None), None);
        assert_eq!(RetryPolicy::never().schedule().next(Duration::ZERO, None), None);
    }

    #[test]
    fn the_wish_of_the_aggregator_is_followed_within_bounds() {
        let policy = RetryPolicy { deadline: seconds(10_000), first: seconds(1), max: seconds(1) };
        assert_eq!(policy.schedule().next(Duration::ZERO, Some(seconds(20))), Some(seconds(20)));
        assert_eq!(policy.schedule().next(Duration::ZERO, Some(seconds(9_000))), Some(MAX_RETRY_AFTER));
        assert!(policy.schedule().next(Duration::ZERO, Some(Duration::ZERO)).unwrap() >= seconds(1));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "1994-11-06T08:49:00Z".parse().unwrap();
        let read = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            retry_after(&headers, now)
        };
        assert_eq!(read("120"), Some(seconds(120)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT"), Some(seconds(37)));
        assert_eq!(read("Sun, 06 Nov 1994 08:48:37 GMT"), Some(Duration::ZERO));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
