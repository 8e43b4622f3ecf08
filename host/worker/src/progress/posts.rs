//! The updates that a plugin posts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::progress::{ProgressError, ProgressUpdate, combine};
use tokio::sync::{MutexGuard, Notify};

/// Maximum size of the names of failed tests: 256 KiB, so that they fit into an update.
const MAX_NAME_BYTES: usize = 256 << 10;

/// The updates that a plugin posts to the relay, which a log watch adds to its counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct PostedUpdates(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Held while an update is sent to the aggregator. Tasks get it in the order of their requests.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a log watch needs the updates.
    watched: bool,
    /// Whether that watch counts tests, and reports for the plugin.
    counting: bool,
    said: Option<ProgressUpdate>,
}

/// What to do with a posted update.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// Forward it to the aggregator.
    PassOn,
    /// Nothing, because the log watch reports it.
    Kept,
    /// It is not a valid update.
    Invalid(ProgressError),
}

impl PostedUpdates {
    /// Waits until no other update is being sent to the aggregator.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// Stores updates from now on, for a log watch.
    pub(super) fn watch(&self) {
        self.with(|state| state.watched = true);
    }

    /// Sets whether a log watch reports for the plugin.
    pub(super) fn set_counting(&self, counting: bool) {
        self.with(|state| state.counting = counting);
    }

    /// Processes an update. The caller must hold the turn.
    pub(crate) fn take(&self, body: &[u8]) -> Posted {
        let posted = self.with(|state| {
            if !state.watched {
                return Posted::PassOn;
            }
            match ProgressUpdate::from_body(body) {
                Ok(update) => state.said = Some(joined(state.said.take(), update)),
                Err(error) if state.counting => return Posted::Invalid(error),
                // The update is forwarded, and the aggregator reports the error.
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

    /// Returns the combined state of all updates.
    pub(super) fn said(&self) -> Option<ProgressUpdate> {
        self.with(|state| state.said.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the state after `update`, with the names of all tests that failed in any update.
///
/// Each process of a parallel suite posts only its own failures.
fn joined(old: Option<ProgressUpdate>, update: ProgressUpdate) -> ProgressUpdate {
    let mut said = combine(old.as_ref(), update);
    if let Some(old) = old {
        let known: BTreeSet<&String> = old.failures.iter().collect();
        let new: Vec<String> = said.failures.iter().filter(|name| !known.contains(name)).cloned().collect();
        said.failures = old.failures.iter().cloned().chain(new).collect();
        for (name, reason) in old.reasons {
            said.reasons.entry(name).or_insert(reason);
        }
    }
    said.trim_names(MAX_NAME_BYTES);
    // The omitted names are counted in the log.
    said.omitted = 0;
    said
}
