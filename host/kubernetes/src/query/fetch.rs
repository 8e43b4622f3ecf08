//! Sends requests to the API server, with limits on their rate, number, time and size.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable as _};
use futures_util::AsyncReadExt;
use futures_util::io::AsyncBufRead;
use kube::Client;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{ClusterError, chain};

/// Timeout of a whole request. The server itself gives up after 60 s.
pub(super) const WITHIN: Duration = Duration::from_secs(90);

/// Maximum size in bytes of a response that is kept in memory and is not a list.
const MAX_DOCUMENT: usize = 16 << 20;

/// How often a request is repeated if the server is overloaded (429, 503, 504).
const MAX_RETRIES: usize = 3;

/// First delay before such a request is repeated. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A request without a body.
pub(super) type Request = http::Request<Vec<u8>>;

#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// The server returned an error, or no response.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The response exceeds the size limit.
    #[error("the answer is larger than {0} MiB")]
    TooLarge(usize),
}

impl FetchError {
    pub(super) fn into_cluster(self, what: &str) -> ClusterError {
        match self {
            Self::Cluster(error) => error,
            Self::TooLarge(_) => ClusterError::new(what, self.to_string()),
        }
    }
}

pub(crate) struct Fetch {
    client: Client,
    throttle: Throttle,
}

impl Fetch {
    /// Creates a fetcher with a sustained rate of `qps` requests per second, and `burst` requests
    /// at once after a pause.
    pub(crate) fn new(client: Client, qps: f64, burst: u32) -> Self {
        Self { client, throttle: Throttle::new(qps, burst) }
    }

    /// Returns the whole response of at most `limit` bytes, which must be complete `within` this
    /// time. `what` completes the message "failed to …".
    pub(super) async fn bytes(
        &self,
        what: &str,
        request: Request,
        limit: usize,
        within: Duration,
    ) -> Result<Vec<u8>, FetchError> {
        let attempt = || async {
            let _permit = self.throttle.enter().await;
            let answer = async {
                let stream = self.client.request_stream(request.clone()).await;
                read(what, stream.map_err(|error| ClusterError::api(what, &error))?, limit).await
            };
            tokio::time::timeout(within, answer).await.unwrap_or_else(|_| Err(silent(what, within).into()))
        };
        let overloaded = |error: &FetchError| match error {
            FetchError::Cluster(error) => matches!(error.code, Some(429 | 503 | 504)),
            FetchError::TooLarge(_) => false,
        };
        let pauses = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_times(MAX_RETRIES).with_jitter();
        attempt.retry(pauses).when(overloaded).await
    }

    pub(super) async fn json(&self, what: &str, path: &str) -> Result<Value, ClusterError> {
        let answer = self.bytes(what, get(what, path)?, MAX_DOCUMENT, WITHIN).await;
        serde_json::from_slice(&answer.map_err(|error| error.into_cluster(what))?)
            .map_err(|error| ClusterError::new(what, format!("the answer is not JSON: {error}")))
    }

    /// Returns the response as a stream. The caller must keep the permit while it reads.
    pub(super) async fn stream(
        &self,
        what: &str,
        request: Request,
    ) -> Result<(Option<SemaphorePermit<'_>>, impl AsyncBufRead + Unpin + Send + use<>), ClusterError> {
        let permit = self.throttle.enter().await;
        let answer = tokio::time::timeout(WITHIN, self.client.request_stream(request)).await;
        let stream = answer.map_err(|_| silent(what, WITHIN))?.map_err(|error| ClusterError::api(what, &error))?;
        Ok((permit, stream))
    }
}

pub(super) fn get(what: &str, path: &str) -> Result<Request, ClusterError> {
    http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| ClusterError::new(what, format!("`{path}` is not a path: {error}")))
}

async fn read(what: &str, stream: impl AsyncBufRead + Unpin, limit: usize) -> Result<Vec<u8>, FetchError> {
    // One byte more distinguishes a response that fits from one that does not.
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    stream.take(bound).read_to_end(&mut bytes).await.map_err(|error| ClusterError::new(what, chain(&error)))?;
    if bytes.len() > limit { Err(FetchError::TooLarge(limit >> 20)) } else { Ok(bytes) }
}

fn silent(what: &str, within: Duration) -> ClusterError {
    ClusterError::new(what, format!("no complete answer within {} s", within.as_secs()))
}

/// Maximum number of concurrent requests. It hides latency, but is too small to affect other users
/// of the server.
pub(super) const AT_ONCE: usize = 8;

/// The permitted range of rates. Below it a survey would never end. Above it there is practically
/// no limit.
const RATES: (f64, f64) = (0.1, 10_000.0);

/// A token bucket and a semaphore. Every request takes one token and one permit. Tokens are
/// refilled over time, and a permit is returned on drop.
struct Throttle {
    permits: Semaphore,
    bucket: Mutex<Bucket>,
}

impl Throttle {
    fn new(qps: f64, burst: u32) -> Self {
        Self { permits: Semaphore::new(AT_ONCE), bucket: Mutex::new(Bucket::new(qps, burst, Instant::now())) }
    }

    async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed, so there is always a permit.
        let permit = self.permits.acquire().await.ok();
        let wait = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        permit
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

    fn take(&mut self, now: Instant) -> Duration {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() * self.rate;
        self.at = now;
        self.tokens = (self.tokens + earned).min(self.burst) - 1.0;
        if self.tokens >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-self.tokens / self.rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

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
