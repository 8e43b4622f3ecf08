//! Being told to end: gently, and at once.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A wish that a worker ends. Clones share it.
///
/// Two stages, because a pod that is deleted still has its grace period: a plugin that is told to end writes what it has, and that
/// is worth sending.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// Nobody wants anything to end yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to end soon: a worker goes on waiting for its done file for the drain period, and finishes an upload under way.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Asks to end at once. Implies [`Shutdown::drain`].
    pub fn now(&self) {
        self.drain.cancel();
        self.now.cancel();
    }

    /// Waits until somebody asks to end, soon or at once.
    pub async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Waits until somebody asks to end at once.
    pub async fn ending(&self) {
        self.now.cancelled().await;
    }

    /// Turns signals of this process into wishes, for ever: the first SIGTERM or SIGINT asks to end soon, the second at once.
    ///
    /// # Errors
    /// The system refuses to deliver signals; without an error this never returns.
    pub async fn follow_signals(&self) -> io::Error {
        let (mut terminate, mut interrupt) = match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
            (Err(error), _) | (_, Err(error)) => return error,
        };
        let mut asked = false;
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            if asked {
                tracing::info!(signal = name, "ending at once");
                self.now();
            } else {
                tracing::info!(signal = name, "ending soon; a second signal ends at once");
                self.drain();
            }
            asked = true;
        }
    }
}
