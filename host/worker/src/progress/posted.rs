//! When the plugin said last how far it is, and what it has said.

use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::progress::{ProgressUpdate, combine};
use tokio::time::Instant;

/// When an update of the plugin was passed on last. Shared by the relay, which knows, and by who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastPosted(Arc<Mutex<Posted>>);

#[derive(Debug, Default)]
struct Posted {
    at: Option<Instant>,
    /// Whether somebody will ask what was said.
    kept: bool,
    said: Option<ProgressUpdate>,
}

impl LastPosted {
    /// What is said from now on is kept. Its names take as much as one update may have, so nobody keeps it who does not ask.
    pub(crate) fn keep(&self) {
        self.with(|posted| posted.kept = true);
    }

    /// The plugin says something now.
    pub(crate) fn touch(&self) {
        self.with(|posted| posted.at = Some(Instant::now()));
    }

    /// This is what it says. To be called in the order in which updates go to the aggregator.
    pub(crate) fn says(&self, body: &[u8]) {
        // Who takes it in the end refuses what it cannot read, and so it says nothing.
        if self.with(|posted| posted.kept)
            && let Ok(update) = ProgressUpdate::from_body(body)
        {
            self.with(|posted| posted.said = Some(combine(posted.said.as_ref(), update)));
        }
    }

    /// `None`: never.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.with(|posted| posted.at)
    }

    /// What the updates come to, as the aggregator adds them up; `None`: nothing.
    pub(crate) fn said(&self) -> Option<ProgressUpdate> {
        self.with(|posted| posted.said.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Posted) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
