//! The wait for an environment that does not answer, at the start of a run or of a plugin.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::dispatcher::DispatchError;

/// How long the start of a run waits for its environment. By default, it does not wait.
#[derive(Clone)]
pub struct StartPatience {
    /// Maximum duration of the wait. The last attempt may end later.
    pub limit: Duration,
    /// Pause between two attempts.
    pub pause: Duration,
    /// Function to call with the error of each attempt of the start that another one follows.
    pub on_delay: OnDelay,
}

/// Type of [`StartPatience::on_delay`].
pub type OnDelay = Arc<dyn Fn(&DispatchError) + Send + Sync>;

impl Default for StartPatience {
    fn default() -> Self {
        Self { limit: Duration::ZERO, pause: Duration::from_secs(10), on_delay: Arc::new(|_| ()) }
    }
}

impl StartPatience {
    /// Starts a wait, which all requests of the start share.
    pub(super) fn start(&self) -> Wait<'_> {
        Wait { patience: self, deadline: Instant::now() + self.limit }
    }

    /// Starts a wait that also ends when `time` has passed.
    pub(super) fn start_within(&self, time: Option<Duration>) -> Wait<'_> {
        let limit = time.map_or(self.limit, |time| time.min(self.limit));
        Wait { patience: self, deadline: Instant::now() + limit }
    }
}

/// A wait that has started.
pub(super) struct Wait<'a> {
    patience: &'a StartPatience,
    deadline: Instant,
}

impl Wait<'_> {
    /// Repeats `attempt` while its error is temporary and there is time left.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub(super) async fn outlast<T, F: Future<Output = Result<T, DispatchError>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, DispatchError> {
        loop {
            let error = match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(pause) = self.pause_after(&error) else { return Err(error) };
            tracing::warn!("the start of the run is delayed: {error}");
            (self.patience.on_delay)(&error);
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns the pause before the next attempt, or `None` if this error ends the wait.
    pub(super) fn pause_after(&self, error: &DispatchError) -> Option<Duration> {
        let pause = self.patience.pause;
        (error.is_temporary && Instant::now() + pause < self.deadline).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns a patience of an hour, and the number of its delays so far.
    fn hour() -> (StartPatience, Arc<AtomicUsize>) {
        let delays = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&delays);
        let on_delay = Arc::new(move |_: &DispatchError| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
        (StartPatience { limit: Duration::from_secs(3600), on_delay, ..StartPatience::default() }, delays)
    }

    #[tokio::test(start_paused = true)]
    async fn an_environment_that_answers_again_is_awaited() {
        let (patience, delays) = hour();
        let mut left = 100;
        let attempt = || {
            left -= 1;
            std::future::ready(if left > 0 { Err(DispatchError::temporary("it is away")) } else { Ok(7) })
        };
        assert_eq!(patience.start().outlast(attempt).await, Ok(7));
        assert_eq!(delays.load(Ordering::Relaxed), 99);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_has_an_end() {
        let (patience, delays) = hour();
        let (start, wait) = (Instant::now(), patience.start());
        let away = || std::future::ready(Err::<(), _>(DispatchError::temporary("it is away")));
        assert!(wait.outlast(away).await.unwrap_err().is_temporary);
        let waited = start.elapsed();
        assert!(waited <= patience.limit && waited > patience.limit / 2, "{waited:?}");
        // The requests of one start share the time.
        let before = delays.load(Ordering::Relaxed);
        assert!(wait.outlast(away).await.unwrap_err().is_temporary);
        assert_eq!(delays.load(Ordering::Relaxed), before);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lasting_error_and_a_default_wait_end_at_once() {
        let (patience, delays) = hour();
        let start = Instant::now();
        let denied = || std::future::ready(Err::<(), _>(DispatchError::new("it is forbidden")));
        assert!(!patience.start().outlast(denied).await.unwrap_err().is_temporary);
        let away = || std::future::ready(Err::<(), _>(DispatchError::temporary("it is away")));
        assert!(StartPatience::default().start().outlast(away).await.unwrap_err().is_temporary);
        assert_eq!((start.elapsed(), delays.load(Ordering::Relaxed)), (Duration::ZERO, 0));
    }
}
