//! The rate at which a count increases.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

/// Length of the window: 10 min. Older progress says little about the rest, because serial tests
/// come last and are slow.
const WINDOW: SignedDuration = SignedDuration::from_secs(600);
/// Minimum time between two samples, which limits how many a window holds.
const STEP: SignedDuration = SignedDuration::from_secs(5);
/// Minimum time span for which a rate is computed.
const MIN_SPAN: SignedDuration = SignedDuration::from_secs(20);

/// Samples of an increasing count.
#[derive(Debug, Default)]
pub(super) struct Rate {
    samples: VecDeque<(Timestamp, u64)>,
}

impl Rate {
    /// Records that `count` was reached by `now`.
    pub(super) fn add(&mut self, count: u64, now: Timestamp) {
        if self.samples.back().is_some_and(|&(at, last)| count < last || now < at) {
            // The plugin was restarted, or the clock was set.
            self.samples.clear();
        }
        let is_close = |&(at, _): &(Timestamp, u64)| now.duration_since(at) < STEP;
        if self.samples.back().is_some_and(|last| is_close(last) && last.1 == count) {
            return;
        }
        // Of samples close to each other, only the last is kept, except for the very first.
        if self.samples.len() > 1 && self.samples.back().is_some_and(is_close) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, count));
        while self.samples.len() > 2 && self.samples.get(1).is_some_and(|&(at, _)| now.duration_since(at) > WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Returns the count per minute; `None` if the samples cover too little.
    pub(super) fn per_minute(&self) -> Option<f64> {
        let (&(first, from), &(last, to)) = self.samples.front().zip(self.samples.back())?;
        let span = last.duration_since(first);
        (span >= MIN_SPAN && to > from).then(|| (to - from) as f64 * 60.0 / span.as_secs_f64())
    }

    /// Estimates the time for `remaining` more; `None` without a rate.
    pub(super) fn left(&self, remaining: u64) -> Option<SignedDuration> {
        let minutes = remaining as f64 / self.per_minute()?;
        SignedDuration::try_from_secs_f64(minutes * 60.0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + i64::try_from(seconds).unwrap()).unwrap()
    }

    #[test]
    fn the_rate_so_far_estimates_the_rest() {
        let mut rate = Rate::default();
        rate.add(0, at(0));
        assert_eq!(rate.left(10), None);
        rate.add(1, at(10));
        assert_eq!(rate.left(10), None, "too early to say");
        for second in 11..=60 {
            rate.add(second / 10, at(second));
        }
        assert!((rate.per_minute().unwrap() - 6.0).abs() < 0.7, "{:?}", rate.per_minute());
        let left = rate.left(12).unwrap().as_secs();
        assert!((100..140).contains(&left), "{left}");
        rate.add(0, at(70));
        assert_eq!(rate.per_minute(), None, "the plugin started again");
    }

    #[test]
    fn a_clock_that_is_set_back_starts_a_new_estimate() {
        let mut rate = Rate::default();
        rate.add(0, at(1000));
        rate.add(50, at(1060));
        rate.add(51, at(10));
        assert_eq!(rate.per_minute(), None);
    }

    #[test]
    fn samples_are_few_and_old_ones_are_dropped() {
        let mut rate = Rate::default();
        for second in 0..7200_u64 {
            rate.add(second.min(100) + second / 60, at(second));
        }
        assert!(rate.samples.len() < 150, "{}", rate.samples.len());
        let per_minute = rate.per_minute().unwrap();
        assert!((0.9..1.1).contains(&per_minute), "{per_minute}");
    }
}
