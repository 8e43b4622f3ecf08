//! Adds randomness to intervals, so that thousands of workers that started together spread out.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Returns `period`, changed randomly by up to a fifth.
pub(crate) fn jittered(period: Duration) -> Duration {
    // The hash keys of the standard library are random, which is enough here.
    let random = RandomState::new().build_hasher().finish() % 4001;
    let tenthousandths = 8_000 + u32::try_from(random).unwrap_or(2_000);
    period.saturating_mul(tenthousandths) / 10_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_a_fifth_and_varies() {
        let period = Duration::from_secs(30);
        let drawn: Vec<_> = (0..200).map(|_| jittered(period)).collect();
        assert!(drawn.iter().all(|d| (Duration::from_secs(24)..=Duration::from_secs(36)).contains(d)));
        assert!(drawn.iter().any(|d| d != &drawn[0]));
    }
}
