//! The progress of a check, at a bounded rate.

use std::time::{Duration, Instant};

use crate::call::channel::{Message, Outbox};
use crate::call::io::CheckProgress;
use crate::failure::{Stop, cut};

/// The minimum time between two reports that reach the sink.
const INTERVAL: Duration = Duration::from_millis(100);
/// The maximum length of a message in bytes, as in the WIT.
const MAX_MESSAGE: usize = 1 << 10;

/// Passes on the progress of a check. Of reports that follow each other quickly, the last one
/// counts.
#[derive(Debug)]
pub(crate) struct Reports {
    outbox: Outbox,
    sent: Option<Instant>,
    /// The last report, if it was not sent.
    waiting: Option<CheckProgress>,
}

impl Reports {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, sent: None, waiting: None }
    }

    /// Takes a report at the time `now`.
    pub(crate) fn report(&mut self, progress: CheckProgress, now: Instant) -> Result<(), Stop> {
        let progress = CheckProgress { message: cut(&progress.message, MAX_MESSAGE), ..progress };
        if self.sent.is_some_and(|sent| now.saturating_duration_since(sent) < INTERVAL) {
            self.waiting = Some(progress);
            return Ok(());
        }
        self.waiting = None;
        self.sent = Some(now);
        self.outbox.send(Message::Progress(progress))
    }

    /// Sends the last report, if it was not sent.
    pub(crate) fn finish(&mut self) {
        if let Some(progress) = self.waiting.take() {
            // The call is over. If nobody listens any more, there is nobody to tell.
            let _ = self.outbox.send(Message::Progress(progress));
        }
    }
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
