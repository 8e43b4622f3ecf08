//! The one place where the ledger lives: transitions are applied one at a time, journalled in that order, and their effects sent on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use plumbline_core::ledger::{Effect, Event, Ledger, Record, Refusal};
use plumbline_core::run_status::RunStatus;
use plumbline_core::{PluginName, ResultKey};
use tokio::sync::{mpsc, watch};

use crate::journal::{Journal, JournalError};

/// Why a transition did not happen.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The ledger does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It cannot be made to last.
    #[error("failed to record what happened: {0}")]
    Journal(#[from] JournalError),
    /// It happened, and is not safe on disk.
    #[error("failed to record what happened: {0}")]
    Sync(#[source] std::io::Error),
}

/// The ledger of a run, shared by the server, the monitors and the run loop. Cheap to clone.
#[derive(Clone)]
pub struct State {
    shared: Arc<Shared>,
}

struct Shared {
    /// Whose time is up and whose workers may still send what they have. Not in the ledger: a restart asks again.
    closing: Mutex<Closing>,
    ledger: Mutex<Ledger>,
    journal: Journal,
    effects: mpsc::UnboundedSender<Effect>,
    changed: watch::Sender<u64>,
    clock: Clock,
}

#[derive(Default)]
struct Closing {
    plugins: BTreeSet<PluginName>,
    sent: BTreeSet<ResultKey>,
}

/// The wall clock, never set back: events of a ledger follow each other in time.
#[derive(Default)]
struct Clock(Mutex<Timestamp>);

impl Clock {
    fn now(&self) -> Timestamp {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Timestamp::now().max(*last);
        *last
    }
}

impl State {
    /// A ledger that is journalled to `journal`. What follows from its transitions arrives at the receiver, in order.
    #[must_use]
    pub fn new(ledger: Ledger, journal: Journal) -> (Self, mpsc::UnboundedReceiver<Effect>) {
        // Effects are few: a fixed number per expected result.
        let (effects, receiver) = mpsc::unbounded_channel();
        let (changed, _) = watch::channel(0);
        (
            Self {
                shared: Arc::new(Shared {
                    closing: Mutex::default(),
                    ledger: Mutex::new(ledger),
                    journal,
                    effects,
                    changed,
                    clock: Clock::default(),
                }),
            },
            receiver,
        )
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // A panic inside the ledger, which has none, would leave it as it was before: transitions are checked before they change anything.
        self.shared.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the ledger.
    pub fn read<T>(&self, look: impl FnOnce(&Ledger) -> T) -> T {
        look(&self.lock())
    }

    /// This moment, as the ledger is told it: the wall clock, but never set back.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// The status at this moment.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.read(|ledger| ledger.status(self.now()))
    }

    /// Wakes on every change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// From now on workers of this plugin are asked for what they have, and may send it.
    pub(crate) fn ask_partial(&self, plugin: &PluginName) {
        self.closing().plugins.insert(plugin.clone());
    }

    /// No more of that.
    pub(crate) fn end_partial(&self, plugin: &PluginName) {
        self.closing().plugins.remove(plugin);
    }

    /// Whether what the plugin has so far for `key` is wanted: its time is up, nothing has come, and the result is still missing.
    pub(crate) fn wants_partial(&self, key: &ResultKey) -> bool {
        let closing = self.closing();
        if !closing.plugins.contains(&key.plugin) || closing.sent.contains(key) {
            return false;
        }
        drop(closing);
        self.read(|ledger| ledger.missing(&key.plugin).contains(&key))
    }

    /// It came.
    pub(crate) fn partial_sent(&self, key: &ResultKey) {
        self.closing().sent.insert(key.clone());
        self.shared.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    fn closing(&self) -> MutexGuard<'_, Closing> {
        self.shared.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies `event`. It reaches the disk in its turn, soon.
    ///
    /// # Errors
    /// When the ledger refuses it, or the journal has failed.
    pub fn apply(&self, event: Event) -> Result<(), ApplyError> {
        self.transition(event, false).map(|_| ())
    }

    /// Applies `event` and waits until it is on disk.
    ///
    /// # Errors
    /// As [`State::apply`], and when the event happened but could not be written.
    pub async fn apply_durable(&self, event: Event) -> Result<(), ApplyError> {
        if let Some(written) = self.transition(event, true)? {
            written.await.map_err(|_| JournalError::Closed)?.map_err(ApplyError::Sync)?;
        }
        Ok(())
    }

    /// Lets time pass: what a moment alone brings about (the end of a retry window) happens now.
    pub fn tick(&self) {
        let mut ledger = self.lock();
        let effects = ledger.tick(self.shared.clock.now());
        self.send(effects);
    }

    fn transition(
        &self,
        event: Event,
        durable: bool,
    ) -> Result<Option<tokio::sync::oneshot::Receiver<std::io::Result<()>>>, ApplyError> {
        let mut ledger = self.lock();
        let at = self.shared.clock.now();
        // What a restart need not know is not written: a heartbeat every few seconds from every node would be most of the journal.
        let kept = !matches!(event, Event::Hello { .. } | Event::Heartbeat { .. } | Event::Progress { .. });
        let entry = kept.then(|| Record { at, event: event.clone() });
        let effects = ledger.apply(at, event)?;
        // Still under the lock: the journal's order is the ledger's. The queue does no I/O.
        let written = match entry {
            Some(entry) => self.shared.journal.append(&entry, durable)?,
            None => None,
        };
        self.send(effects);
        Ok(written)
    }

    fn send(&self, effects: Vec<Effect>) {
        for effect in effects {
            // The run loop has ended: nothing is left that could follow.
            let _ = self.shared.effects.send(effect);
        }
        self.shared.changed.send_modify(|version| *version = version.wrapping_add(1));
    }
}
