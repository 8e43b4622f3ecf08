//! Limits the requests to the API server, both concurrent ones and their rate.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum number of concurrent requests. It hides latency, but is too small to affect other users
/// of the server.
const AT_ONCE: usize = 8;

/// The permitted range of rates. Below it a survey would never end. Above it there is practically
/// no limit.
const RATES: (f64, f64) = (0.1, 10_000.0);

/// A token bucket and a semaphore. Every request takes one token and one permit. Tokens are
/// refilled over time, and a permit is returned on drop.
pub(crate) struct Throttle {
    seats: Semaphore,
    bucket: Mutex<Bucket>,
}

impl Throttle {
    /// Creates a throttle with a sustained rate of `qps` requests per second, and `burst` requests
    /// at once after a pause.
    pub(crate) fn new(qps: f64, burst: u32) -> Self {
        Self { seats: Semaphore::new(AT_ONCE), bucket: Mutex::new(Bucket::new(qps, burst, Instant::now())) }
    }

    /// Waits for a permit and a token. The permit is held until the result is dropped.
    pub(crate) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed, so there is always a permit.
        let seat = self.seats.acquire().await.ok();
        let wait = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        seat
    }
}

struct Bucket {
    rate: f64,
    burst: f64,
    /// The number of tokens. A negative number means that requests are waiting.
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn new(qps: f64, burst: u32, at: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        let rate = if qps.is_finite() { qps.clamp(RATES.0, RATES.1) } else { RATES.1 };
        Self { rate, burst, tokens: burst, at }
    }

    /// Takes a token, and returns how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() * self.rate;
        self.at = now;
        self.tokens = (self.tokens + earned).min(self.burst) - 1.0;
        if self.tokens >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-self.tokens / self.rate) }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let began = Instant::now();
        let mut bucket = Bucket::new(10.0, 5, began);
        assert!((0..5).all(|_| bucket.take(began).is_zero()));
        // Each of several simultaneous requests waits a tenth of a second longer than the previous
        // one.
        let waits: Vec<u128> = (0..3).map(|_| bucket.take(began).as_millis()).collect();
        assert_eq!(waits, [100, 200, 300]);
        // After a pause, only the burst is free again.
        let later = began + Duration::from_secs(3600);
        assert_eq!((0..7).filter(|_| bucket.take(later).is_zero()).count(), 5);
    }

    #[test]
    fn only_so_many_are_under_way_at_once() {
        let throttle = Throttle::new(1000.0, 1000);
        let mut held: Vec<_> = (0..AT_ONCE).map(|_| throttle.enter().now_or_never().unwrap()).collect();
        assert!(throttle.enter().now_or_never().is_none());
        held.pop();
        assert!(throttle.enter().now_or_never().is_some());
    }

    #[test]
    fn senseless_rates_are_taken_as_the_nearest_sensible_one() {
        let rate = |qps| Bucket::new(qps, 0, Instant::now()).rate;
        assert!((rate(-1.0) - RATES.0).abs() < 1e-9);
        assert!((rate(f64::NAN) - RATES.1).abs() < 1e-9);
    }
}
