//! Requests to stop, gracefully or at once.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A request for a worker to stop. Clones share it.
///
/// There are two stages, because a pod that is deleted still has its grace period. A plugin that is
/// asked to stop writes what it has. That is worth sending, unless another pod replaces this one.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// Creates a handle without a request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop gracefully. The worker finishes an upload in progress during the drain period. If
    /// no other pod runs the plugin again, it also waits for its done file.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Asks to stop at once. Implies [`Shutdown::drain`].
    pub fn now(&self) {
        self.drain.cancel();
        self.now.cancel();
    }

    /// Waits until a stop of either kind is requested.
    pub async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Waits until an immediate stop is requested.
    pub async fn ending(&self) {
        self.now.cancelled().await;
    }

    /// Turns signals of this process into requests. The first SIGTERM or SIGINT asks to stop
    /// gracefully, the second at once.
    ///
    /// # Errors
    /// Returns only if the system cannot deliver signals, with that error.
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
                tracing::info!(signal = name, "stopping immediately");
                self.now();
            } else {
                tracing::info!(signal = name, "stopping; a second signal stops immediately");
                self.drain();
            }
            asked = true;
        }
    }
}
