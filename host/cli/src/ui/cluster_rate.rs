//! How fast something goes, and when it may end.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// What happened longer ago than this, 10 min, says little about what comes: tests that run alone come last and are slow.
const WINDOW: Duration = Duration::from_secs(600);
/// Between two samples at least: 600 s of them are few enough to keep.
const STEP: Duration = Duration::from_secs(5);
/// Less than this much time says nothing yet.
const MIN_SPAN: Duration = Duration::from_secs(20);

/// Samples of a count that grows.
#[derive(Debug, Default)]
pub(super) struct Rate {
    samples: VecDeque<(Instant, u64)>,
}

impl Rate {
    /// `count` was reached by `now`.
    pub(super) fn add(&mut self, count: u64, now: Instant) {
        if self.samples.back().is_some_and(|&(_, last)| count < last) {
            // It began anew.
            self.samples.clear();
        }
        if self.samples.back().is_some_and(|&(at, last)| now.duration_since(at) < STEP && last == count) {
            return;
        }
        // Of samples close to each other the last counts, but the first of all stays.
        if self.samples.len() > 1 && self.samples.back().is_some_and(|&(at, _)| now.duration_since(at) < STEP) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, count));
        while self.samples.len() > 2 && self.samples.get(1).is_some_and(|&(at, _)| now.duration_since(at) > WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Per minute; `None` as long as too little was seen.
    pub(super) fn per_minute(&self) -> Option<f64> {
        let (&(first, from), &(last, to)) = self.samples.front().zip(self.samples.back())?;
        let span = last.duration_since(first);
        (span >= MIN_SPAN && to > from).then(|| (to - from) as f64 * 60.0 / span.as_secs_f64())
    }

    /// How long `remaining` more may take; `None` as long as nobody can say.
    pub(super) fn left(&self, remaining: u64) -> Option<Duration> {
        let minutes = remaining as f64 / self.per_minute()?;
        Duration::try_from_secs_f64(minutes * 60.0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_so_far_says_how_long_the_rest_takes() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
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
        assert_eq!(rate.per_minute(), None, "it began anew");
    }

    #[test]
    fn samples_are_few_and_old_ones_forgotten() {
        let start = Instant::now();
        let mut rate = Rate::default();
        for second in 0..7200_u64 {
            rate.add(second.min(100) + second / 60, start + Duration::from_secs(second));
        }
        assert!(rate.samples.len() < 150, "{}", rate.samples.len());
        let per_minute = rate.per_minute().unwrap();
        assert!((0.9..1.1).contains(&per_minute), "{per_minute}");
    }
}
