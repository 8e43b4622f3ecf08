//! Retries a request as long as that may help, until a deadline.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use plumbline_kubernetes::{ClusterError, Refusal};
use tokio::time::Instant;

/// The first delay.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest delay. An API server that is back is noticed within this time.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a missing permission is retried. Role bindings are created together with the Job, and
/// take a moment to become effective.
const FORBIDDEN: Duration = Duration::from_secs(10);

/// Returns true for errors that may pass: rate limiting, server errors, no response, a conflict, or
/// a token that is being replaced.
fn may_pass(error: &ClusterError, tried: Duration) -> bool {
    match error.code {
        Some(401 | 409 | 408) => true,
        Some(403) => tried < FORBIDDEN,
        _ => error.is_transient(),
    }
}

/// Retries until `attempt` succeeds, cannot succeed, or `patience` is over. Then returns the last
/// error.
pub(crate) async fn send_with_retry<T>(
    patience: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T, Refusal>,
) -> Result<T, ClusterError> {
    let begin = Instant::now();
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build();
    loop {
        let refusal = match attempt().await {
            Ok(done) => return Ok(done),
            Err(refusal) => refusal,
        };
        let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
        let pause = pause.max(refusal.retry_after.unwrap_or_default());
        let tried = begin.elapsed();
        if !may_pass(&refusal.error, tried) || tried + pause >= patience {
            return Err(refusal.error);
        }
        tracing::warn!("{}; trying again in {} ms", refusal.error, pause.as_millis());
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: Option<u16>, retry_after: Option<u64>) -> Refusal {
        let mut error = ClusterError::new("write", "no");
        error.code = code;
        Refusal { error, retry_after: retry_after.map(Duration::from_secs) }
    }

    /// Returns how often a permanently failing attempt is made, and how long that takes.
    async fn tries(code: Option<u16>, retry_after: Option<u64>, patience: u64) -> (usize, Duration) {
        let (mut count, begin) = (0, Instant::now());
        let attempt = async || {
            count += 1;
            Err::<(), _>(refused(code, retry_after))
        };
        let failed = send_with_retry(Duration::from_secs(patience), attempt).await;
        assert_eq!(failed.unwrap_err().code, code);
        (count, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_until_the_patience_ends() {
        for code in [None, Some(401), Some(408), Some(409), Some(429), Some(500), Some(503), Some(504)] {
            let (count, took) = tries(code, None, 60).await;
            assert!(count > 5 && took < Duration::from_secs(60), "{code:?}: {count} in {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_work_is_tried_once() {
        for code in [400, 404, 413, 422] {
            assert_eq!(tries(Some(code), None, 60).await.0, 1, "{code}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_permission_is_waited_for_but_not_for_long() {
        let (count, took) = tries(Some(403), None, 600).await;
        assert!(count > 2 && took < Duration::from_secs(20), "{count} in {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_says_when() {
        assert_eq!(tries(Some(429), Some(20), 50).await.0, 3);
        assert_eq!(tries(Some(429), Some(60), 50).await.0, 1);
    }
}
