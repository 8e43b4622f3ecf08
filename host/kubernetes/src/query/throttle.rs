//! How fast the API server is asked: so many requests at once, so many per second.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Requests under way at once: enough to hide the way to the server, few enough that nobody else there notices.
const AT_ONCE: usize = 8;

/// Rates that a configuration may ask for: below, a survey would never end; above, there is no limit worth the name.
const RATES: (f64, f64) = (0.1, 10_000.0);

/// A bucket of tokens and a number of seats. Every request takes one of each; a token comes back with time, a seat when it is dropped.
pub(super) struct Throttle {
    seats: Semaphore,
    bucket: Mutex<Bucket>,
    rate: f64,
    burst: f64,
}

struct Bucket {
    /// Below zero: requests are waiting for tokens to come.
    tokens: f64,
    at: Instant,
}

impl Throttle {
    /// `qps` requests per second in the long run, `burst` of them at once after a pause.
    pub(super) fn new(qps: f64, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        let rate = if qps.is_finite() { qps.clamp(RATES.0, RATES.1) } else { RATES.1 };
        let bucket = Mutex::new(Bucket { tokens: burst, at: Instant::now() });
        Self { seats: Semaphore::new(AT_ONCE), bucket, rate, burst }
    }

    /// Waits for a seat and a token. The seat is held until the result is dropped.
    pub(super) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        // Never closed: there is always a permit in the end.
        let seat = self.seats.acquire().await.ok();
        let wait = self.take();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        seat
    }

    fn take(&self) -> Duration {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let earned = now.duration_since(bucket.at).as_secs_f64() * self.rate;
        bucket.at = now;
        bucket.tokens = (bucket.tokens + earned).min(self.burst) - 1.0;
        if bucket.tokens >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-bucket.tokens / self.rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_then_the_rate_holds() {
        let throttle = Throttle::new(10.0, 5);
        let began = Instant::now();
        for _ in 0..5 {
            throttle.enter().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            throttle.enter().await;
        }
        let took = began.elapsed().as_secs_f64();
        assert!((1.9..2.2).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_are_under_way_at_once() {
        let throttle = Throttle::new(1000.0, 1000);
        let mut held = Vec::new();
        for _ in 0..AT_ONCE {
            held.push(throttle.enter().await);
        }
        assert!(tokio::time::timeout(Duration::from_secs(60), throttle.enter()).await.is_err());
        held.pop();
        assert!(tokio::time::timeout(Duration::from_secs(60), throttle.enter()).await.is_ok());
    }

    #[test]
    fn senseless_rates_are_taken_as_the_nearest_sensible_one() {
        assert!((Throttle::new(-1.0, 0).rate - RATES.0).abs() < 1e-9);
        assert!((Throttle::new(f64::NAN, 0).rate - RATES.1).abs() < 1e-9);
    }
}
