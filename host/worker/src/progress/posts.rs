//! The updates that a plugin posts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::progress::{ProgressError, ProgressUpdate, combine};
use tokio::sync::{MutexGuard, Notify};

/// Bytes of the names of failed tests that are kept: 256 KiB, so that they fit into an update.
const MAX_NAME_BYTES: usize = 256 << 10;

/// The updates that a plugin posts. The relay, which receives them, and the log watch, which adds them to its counts, share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Held while an update is on its way to the aggregator. Tasks get it in the order in which they ask.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a log watch asks for the posts.
    watched: bool,
    /// Whether that watch counts tests, and reports for the plugin.
    counting: bool,
    said: Option<ProgressUpdate>,
}

/// What to do with an update that was posted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// Pass it on to the aggregator.
    PassOn,
    /// Nothing: the log watch reports it.
    Kept,
    /// It is not an update.
    Invalid(ProgressError),
}

impl Posts {
    /// Waits until no other update is on its way to the aggregator.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// Keeps what is posted from now on, for a log watch.
    pub(super) fn watch(&self) {
        self.with(|state| state.watched = true);
    }

    /// Whether a log watch reports for the plugin.
    pub(super) fn set_counting(&self, counting: bool) {
        self.with(|state| state.counting = counting);
    }

    /// Takes an update. The caller has the turn.
    pub(crate) fn take(&self, body: &[u8]) -> Posted {
        let posted = self.with(|state| {
            if !state.watched {
                return Posted::PassOn;
            }
            match ProgressUpdate::from_body(body) {
                Ok(update) => state.said = Some(joined(state.said.take(), update)),
                Err(error) if state.counting => return Posted::Invalid(error),
                // The aggregator answers it.
                Err(_) => {}
            }
            if state.counting { Posted::Kept } else { Posted::PassOn }
        });
        self.0.changed.notify_one();
        posted
    }

    /// Waits for the next update.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// What the updates add up to.
    pub(super) fn said(&self) -> Option<ProgressUpdate> {
        self.with(|state| state.said.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The state after `update`, with the names of all tests that failed in any update: each process of a parallel suite posts only its own.
fn joined(old: Option<ProgressUpdate>, update: ProgressUpdate) -> ProgressUpdate {
    let mut said = combine(old.as_ref(), update);
    if let Some(old) = old {
        let known: BTreeSet<&String> = old.failures.iter().collect();
        let new: Vec<String> = said.failures.iter().filter(|name| !known.contains(name)).cloned().collect();
        said.failures = old.failures.iter().cloned().chain(new).collect();
    }
    said.trim_names(MAX_NAME_BYTES);
    // What was left out is counted in the log.
    said.omitted = 0;
    said
}
