//! Retries of uploads.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};

use crate::deliver::error::DeliverError;

/// Retries `attempt` until it succeeds, fails permanently, or has run `attempts` times.
pub(crate) async fn again<F>(attempts: usize, attempt: impl FnMut() -> F) -> Result<(), DeliverError>
where
    F: Future<Output = Result<(), DeliverError>>,
{
    let pauses = ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_secs(1))
        .with_max_delay(Duration::from_secs(60))
        .with_max_times(attempts.saturating_sub(1));
    attempt
        .retry(pauses)
        .when(|error| matches!(error, DeliverError::Refused { transient: true, .. }))
        .notify(|error, pause| tracing::warn!("{error}; trying again in {} s", pause.as_secs()))
        .await
}
