//! The one place where the ledger lives: transitions are applied one at a time, journalled in that order, and their effects sent on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use plumbline_core::ledger::{Effect, Event, Ledger, Record, Refusal};
use plumbline_core::run_status::RunStatus;
use plumbline_core::{PluginName, ResultKey, RunFailure};
use plumbline_phonehome::HeartbeatAnswer;
use tokio::sync::{mpsc, oneshot, watch};

use crate::journal::{Journal, JournalError};

/// What a person can do about a journal that cannot be written.
const TROUBLE_HINT: &str = "uploads are refused until there is space; workers try again";
/// How long a client waits for its result to be recorded before it is told to come again.
const CLIENT_PATIENCE: Duration = Duration::from_secs(10);

/// Why a transition did not happen.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The ledger does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It cannot be made to last.
    #[error("failed to record what happened: {0}")]
    Journal(#[from] JournalError),
    /// It happened, and is not safe on disk yet.
    #[error("what happened is not recorded yet: {0}")]
    NotYet(String),
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
    /// Whose plugin has ended well, as the dispatcher saw.
    ended: BTreeSet<ResultKey>,
}

/// The wall clock, but never set back: events of a ledger follow each other in time. While the wall clock is behind what was said before,
/// time passes as measured, so that no window stretches.
struct Clock(Mutex<(Timestamp, Instant)>);

impl Clock {
    fn new() -> Self {
        Self(Mutex::new((Timestamp::now(), Instant::now())))
    }

    fn now(&self) -> Timestamp {
        self.at(Timestamp::now(), Instant::now())
    }

    fn at(&self, wall: Timestamp, measured: Instant) -> Timestamp {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = SignedDuration::try_from(measured.saturating_duration_since(last.1)).unwrap_or_default();
        let now = last.0.checked_add(passed).unwrap_or(last.0).max(wall);
        *last = (now, measured.max(last.1));
        now
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
                    clock: Clock::new(),
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
        let trouble = self.trouble().map(|trouble| RunFailure::new(&trouble, Some(TROUBLE_HINT)));
        RunStatus { failure: trouble, ..self.read(|ledger| ledger.status(self.now())) }
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

    /// From now on, answers to heartbeats of the worker of `key` say that its plugin has ended.
    pub(crate) fn plugin_ended(&self, key: ResultKey) {
        self.closing().ended.insert(key);
    }

    /// The answer to a heartbeat of the worker of `key`.
    pub(crate) fn heartbeat_answer(&self, key: &ResultKey) -> HeartbeatAnswer {
        let plugin_ended = self.closing().ended.contains(key);
        HeartbeatAnswer { send_partial: self.wants_partial(key), plugin_ended }
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

    /// Moves the partial result of `key` into its place with `place`, if it is still wanted. Nothing is moved once the plugin's time for
    /// partial results is over: `place` must be short, because [`State::end_partial`] waits for it.
    ///
    /// # Errors
    /// What `place` says. `Ok(false)`: the partial result came too late, or another one was first.
    pub(crate) fn place_partial(
        &self,
        key: &ResultKey,
        place: impl FnOnce() -> std::io::Result<()>,
    ) -> std::io::Result<bool> {
        let mut closing = self.closing();
        if !closing.plugins.contains(&key.plugin) || closing.sent.contains(key) {
            return Ok(false);
        }
        place()?;
        closing.sent.insert(key.clone());
        drop(closing);
        self.shared.changed.send_modify(|version| *version = version.wrapping_add(1));
        Ok(true)
    }

    fn closing(&self) -> MutexGuard<'_, Closing> {
        self.shared.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies `event`. It reaches the disk in its turn, soon.
    ///
    /// # Errors
    /// When the ledger refuses it, or the journal takes nothing more.
    pub fn apply(&self, event: Event) -> Result<(), ApplyError> {
        self.transition(event, false).map(|_| ())
    }

    /// Records that `upload` of `key` broke off, unless its files are already being moved into their place: then it ends by itself.
    ///
    /// # Errors
    /// As [`State::apply`].
    pub(crate) fn abandon(&self, key: &ResultKey, upload: u64, reason: String) -> Result<(), ApplyError> {
        let ledger = self.lock();
        if ledger.is_claimed(key, upload) {
            return Ok(());
        }
        self.transition_of(ledger, Event::UploadFailed { key: key.clone(), upload, reason }, false).map(|_| ())
    }

    /// Applies `event` and waits until it is on disk, also while the journal cannot be written, until it is given up.
    ///
    /// # Errors
    /// As [`State::apply`], and when the event happened but the journal was given up.
    pub async fn apply_durable(&self, event: Event) -> Result<(), ApplyError> {
        if let Some(written) = self.transition(event, true)? {
            written.await.map_err(|_| JournalError::Closed)?;
        }
        Ok(())
    }

    /// As [`State::apply_durable`], but a client is not kept waiting for a disk that takes nothing: then the event happened, is written
    /// when there is space, and must not be acknowledged.
    ///
    /// # Errors
    /// As [`State::apply_durable`], and [`ApplyError::NotYet`].
    pub(crate) async fn apply_promptly(&self, event: Event) -> Result<(), ApplyError> {
        match tokio::time::timeout(CLIENT_PATIENCE, self.apply_durable(event)).await {
            Ok(applied) => applied,
            Err(_) => Err(self.not_yet()),
        }
    }

    /// Waits, as [`State::apply_promptly`] does, until everything that happened so far is on disk.
    ///
    /// # Errors
    /// As [`State::apply_promptly`].
    pub(crate) async fn synced(&self) -> Result<(), ApplyError> {
        let written = self.shared.journal.sync()?;
        match tokio::time::timeout(CLIENT_PATIENCE, written).await {
            Ok(written) => Ok(written.map_err(|_| JournalError::Closed)?),
            Err(_) => Err(self.not_yet()),
        }
    }

    fn not_yet(&self) -> ApplyError {
        ApplyError::NotYet(self.trouble().unwrap_or_else(|| "the disk is slow".to_owned()))
    }

    /// What keeps the journal from being written, while something does. Nothing is acknowledged meanwhile.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.journal.trouble()
    }

    /// Whether the journal was given up: nothing that happens from now on can be recorded.
    pub(crate) fn is_journal_lost(&self) -> bool {
        self.shared.journal.is_lost()
    }

    /// Lets time pass: what a moment alone brings about (the end of a retry window) happens now.
    pub fn tick(&self) {
        let mut ledger = self.lock();
        let effects = ledger.tick(self.shared.clock.now());
        self.send(effects);
    }

    fn transition(&self, event: Event, durable: bool) -> Result<Option<oneshot::Receiver<()>>, ApplyError> {
        self.transition_of(self.lock(), event, durable)
    }

    fn transition_of(
        &self,
        mut ledger: MutexGuard<'_, Ledger>,
        event: Event,
        durable: bool,
    ) -> Result<Option<oneshot::Receiver<()>>, ApplyError> {
        let at = self.shared.clock.now();
        let entry = event.is_journalled().then(|| Record { at, event: event.clone() });
        if entry.is_some() {
            self.shared.journal.ready()?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_neither_goes_back_nor_stands_still() {
        let clock = Clock::new();
        let (wall, measured) = (Timestamp::now(), Instant::now());
        let at = |seconds: i64| wall + SignedDuration::from_secs(seconds);
        let after = |seconds| measured + Duration::from_secs(seconds);
        let start = clock.at(at(10), after(10));
        assert_eq!(start, at(10));
        assert_eq!(clock.at(at(-3600), after(40)), at(40), "set back by an hour");
        assert_eq!(clock.at(at(-3590), after(50)), at(50));
        assert_eq!(clock.at(at(3600), after(60)), at(3600), "set forward");
    }
}
