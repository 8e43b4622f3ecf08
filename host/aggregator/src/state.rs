//! The shared state of a run. Transitions of the ledger are applied one at a time and journaled in
//! that order, and their effects are sent on. The status is also written to a file, for other
//! programs.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::disk::Disk;
use plumbline_core::ledger::{Effect, Event, Ledger, Record, Refusal};
use plumbline_core::run_status::RunStatus;
use plumbline_core::{PluginName, ResultKey, RunFailure, RunId};
use plumbline_phonehome::HeartbeatAnswer;
use plumbline_telemetry::{Family, Point};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use crate::journal::{Journal, JournalError};
use crate::metrics::{Increment, Metrics, ledger_families};

/// Hint for a journal that cannot be written.
const TROUBLE_HINT: &str = "uploads are rejected until there is space; workers retry";
/// Hint for a disk that hangs.
const HANG_HINT: &str = "uploads are rejected until the disk answers; workers retry";
/// How long a client waits for its result to be recorded before the response asks it to retry.
const CLIENT_PATIENCE: Duration = Duration::from_secs(10);
/// Minimum interval between writes of the status file, whatever a busy plugin reports.
const PUBLISH_PAUSE: Duration = Duration::from_millis(500);
/// The pause after a write of the status file, as a multiple of the time of the write.
const PUBLISH_SHARE: u32 = 200;
/// Buffer for the status file, in bytes. The whole status of thousands of results has megabytes.
const PUBLISH_BUFFER: usize = 64 << 10;
/// Maximum interval between writes of the status file, which tells a dead aggregator from an idle
/// one.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// Error while applying an event.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The ledger rejected the event.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The event could not be recorded.
    #[error("failed to record an event: {0}")]
    Journal(#[from] JournalError),
    /// The event was applied, but is not durable yet.
    #[error("the event is not recorded yet: {0}")]
    NotYet(String),
}

/// The ledger of a run, shared by the server, the monitors and the run loop. Cheap to clone.
#[derive(Clone)]
pub struct State {
    shared: Arc<Shared>,
}

struct Shared {
    /// Not in the ledger: after a restart the workers are asked again, and files show what was sent.
    partial: Mutex<PartialResults>,
    ledger: Mutex<Ledger>,
    journal: Journal,
    metrics: Metrics,
    effects: mpsc::UnboundedSender<Effect>,
    changed: watch::Sender<u64>,
    clock: Clock,
}

/// What the aggregator asks workers for, in addition to results.
#[derive(Default)]
struct PartialResults {
    /// Plugins whose workers are asked for partial results.
    plugins: BTreeSet<PluginName>,
    /// Results of which a partial one has arrived, in this process or an earlier one.
    sent: BTreeSet<ResultKey>,
    /// Results whose plugin has ended successfully, according to the dispatcher.
    ended: BTreeSet<ResultKey>,
}

impl PartialResults {
    fn wants(&self, key: &ResultKey) -> bool {
        self.plugins.contains(&key.plugin) && !self.sent.contains(key)
    }
}

/// A wall clock that never goes back, because the events of a ledger are in order. If it is set
/// back, it advances with the monotonic clock, so that no time window becomes longer.
struct Clock(Mutex<(Timestamp, Instant)>);

impl Clock {
    /// Returns a clock that starts at the wall clock, but not before `last`.
    fn not_before(last: Option<Timestamp>) -> Self {
        let wall = Timestamp::now();
        Self(Mutex::new((last.map_or(wall, |last| last.max(wall)), Instant::now())))
    }

    fn now(&self) -> Timestamp {
        self.at(Timestamp::now(), Instant::now())
    }

    fn at(&self, wall: Timestamp, measured: Instant) -> Timestamp {
        let mut last = self.0.lock();
        let passed = SignedDuration::try_from(measured.saturating_duration_since(last.1)).unwrap_or_default();
        let now = last.0.checked_add(passed).unwrap_or(last.0).max(wall);
        *last = (now, measured.max(last.1));
        now
    }
}

impl State {
    /// Creates a state, and the receiver of the effects of its transitions, in order.
    pub fn new(ledger: Ledger, journal: Journal) -> (Self, mpsc::UnboundedReceiver<Effect>) {
        // There are few effects: a fixed number per expected result.
        let (effects, receiver) = mpsc::unbounded_channel();
        let shared = Shared {
            partial: Mutex::default(),
            clock: Clock::not_before(ledger.last_event()),
            ledger: Mutex::new(ledger),
            journal,
            metrics: Metrics::default(),
            effects,
            changed: watch::Sender::new(0),
        };
        (Self { shared: Arc::new(shared) }, receiver)
    }

    /// Calls `look` with the ledger.
    pub fn read<T>(&self, look: impl FnOnce(&Ledger) -> T) -> T {
        look(&self.shared.ledger.lock())
    }

    /// Returns the current time of the ledger: the wall clock, but it never goes back.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Returns the current status.
    pub fn status(&self) -> RunStatus {
        let journal = &self.shared.journal;
        let failing = journal.failing().map(|trouble| RunFailure::new(&trouble, Some(TROUBLE_HINT)));
        let hanging = || Some(RunFailure::new(&journal.hang().hanging()?, Some(HANG_HINT)));
        let trouble = failing.or_else(hanging);
        RunStatus { failure: trouble, ..self.read(|ledger| ledger.status(self.now())) }
    }

    /// Returns the journal of the run.
    pub(crate) fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// Returns the counters of what happened in this process.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    pub(crate) fn families(&self, run: &RunId, started: Timestamp) -> Vec<Family> {
        let mut families = self.read(|ledger| ledger_families(ledger, run, started, self.now()));
        families.extend(self.shared.metrics.families());
        let stuck = f64::from(u8::from(self.trouble().is_some()));
        let help = "Whether the journal currently cannot be written: 1 if so. The aggregator then rejects uploads.";
        families.push(Family::gauge("plumbline_journal_stuck", help, [Point::new([], stuck)]));
        families
    }

    /// Returns a receiver that is notified of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Starts asking the workers of this plugin for partial results, and accepting them.
    pub(crate) fn ask_partial(&self, plugin: &PluginName) {
        self.shared.partial.lock().plugins.insert(plugin.clone());
    }

    /// Keeps the partial result of `key`, which an earlier process stored and may have acknowledged.
    pub(crate) fn keep_partial(&self, key: ResultKey) {
        self.shared.partial.lock().sent.insert(key);
    }

    /// Stops asking for and accepting partial results of this plugin.
    pub(crate) fn end_partial(&self, plugin: &PluginName) {
        self.shared.partial.lock().plugins.remove(plugin);
    }

    /// Stops accepting partial results. An interrupted run can still have asked for some.
    pub(crate) fn end_all_partial(&self) {
        self.shared.partial.lock().plugins.clear();
    }

    /// Makes the responses to heartbeats of the worker of `key` say that its plugin has ended.
    pub(crate) fn plugin_ended(&self, key: ResultKey) {
        self.shared.partial.lock().ended.insert(key);
    }

    pub(crate) fn heartbeat_answer(&self, key: &ResultKey) -> HeartbeatAnswer {
        let plugin_ended = self.shared.partial.lock().ended.contains(key);
        HeartbeatAnswer { send_partial: self.wants_partial(key), plugin_ended }
    }

    /// Returns whether a partial result of `key` is wanted, and the result is still missing.
    pub(crate) fn wants_partial(&self, key: &ResultKey) -> bool {
        let wanted = self.shared.partial.lock().wants(key);
        wanted && self.read(|ledger| ledger.is_missing(key))
    }

    /// Stores the partial result of `key` with `place`, if it is still wanted. The ends of partial
    /// results wait for `place`, so it must be fast.
    ///
    /// # Errors
    /// The error of `place`. `Ok(false)` means that the partial result arrived too late, or another
    /// one was first.
    pub(crate) fn place_partial(&self, key: &ResultKey, place: impl FnOnce() -> io::Result<()>) -> io::Result<bool> {
        let mut partial = self.shared.partial.lock();
        if !partial.wants(key) {
            return Ok(false);
        }
        place()?;
        partial.sent.insert(key.clone());
        drop(partial);
        self.send(Vec::new());
        Ok(true)
    }

    /// Applies `event`. It is written to disk in order, soon afterwards.
    ///
    /// # Errors
    /// When the ledger rejects it, or the journal does not accept more events.
    pub fn apply(&self, event: Event) -> Result<(), ApplyError> {
        self.transition(self.shared.ledger.lock(), event, false).map(drop)
    }

    /// Records that `upload` of `key` was interrupted, unless its files are already being moved.
    pub(crate) fn abandon(&self, key: &ResultKey, upload: u64, reason: String) -> Result<(), ApplyError> {
        let ledger = self.shared.ledger.lock();
        if ledger.is_claimed(key, upload) {
            return Ok(());
        }
        self.transition(ledger, Event::UploadFailed { key: key.clone(), upload, reason }, false).map(drop)
    }

    /// Applies `event` and waits until it is on disk, or until the journal gives up.
    ///
    /// # Errors
    /// Same as [`State::apply`], and also when the event was applied but the journal gave up.
    pub async fn apply_durable(&self, event: Event) -> Result<(), ApplyError> {
        let written = self.transition(self.shared.ledger.lock(), event, true)?;
        match written {
            Some(written) => self.written(written).await,
            None => Ok(()),
        }
    }

    /// Waits for `written`, or until the journal gives up.
    async fn written(&self, mut written: oneshot::Receiver<()>) -> Result<(), ApplyError> {
        let journal = &self.shared.journal;
        loop {
            match tokio::time::timeout(journal.hang().poll(), &mut written).await {
                Ok(done) => return Ok(done.map_err(|_| JournalError::Closed)?),
                Err(_) => journal.check()?,
            }
        }
    }

    /// Applies `event` like [`State::apply_durable`], but does not keep a client waiting for a full
    /// disk. The event is then written later, and must not be acknowledged.
    ///
    /// # Errors
    /// Same as [`State::apply_durable`], and [`ApplyError::NotYet`].
    pub(crate) async fn apply_promptly(&self, event: Event) -> Result<(), ApplyError> {
        self.promptly(self.apply_durable(event)).await
    }

    /// Waits until everything so far is on disk, or until the journal gives up.
    pub(crate) async fn durable(&self) -> Result<(), ApplyError> {
        self.written(self.shared.journal.sync()?).await
    }

    /// Waits like [`State::durable`], with the timeout of [`State::apply_promptly`].
    pub(crate) async fn synced(&self) -> Result<(), ApplyError> {
        self.promptly(self.durable()).await
    }

    async fn promptly(&self, applied: impl Future<Output = Result<(), ApplyError>>) -> Result<(), ApplyError> {
        tokio::time::timeout(CLIENT_PATIENCE, applied).await.unwrap_or_else(|_| {
            Err(ApplyError::NotYet(self.trouble().unwrap_or_else(|| "the disk is slow".to_owned())))
        })
    }

    /// Returns the error that currently prevents writes to the journal. Nothing is acknowledged
    /// meanwhile.
    pub fn trouble(&self) -> Option<String> {
        self.shared.journal.trouble()
    }

    /// Advances the time, which can end a retry window.
    pub fn tick(&self) {
        let mut ledger = self.shared.ledger.lock();
        let effects = ledger.tick(self.shared.clock.now());
        self.send(effects);
    }

    /// Applies `event` to the locked ledger. With `durable`, the returned receiver resolves when the
    /// event is on disk.
    fn transition(
        &self,
        mut ledger: MutexGuard<'_, Ledger>,
        event: Event,
        durable: bool,
    ) -> Result<Option<oneshot::Receiver<()>>, ApplyError> {
        let at = self.shared.clock.now();
        let event = ledger.bounded(event);
        let entry = event.is_journalled().then(|| Record { at, event: event.clone() });
        if entry.is_some() {
            match self.shared.journal.ready() {
                Err(JournalError::Full) if !is_retried(&event) => {}
                ready => ready?,
            }
        }
        let increment = Increment::of(&ledger, &event, at);
        let effects = ledger.apply(at, event)?;
        // Append while the ledger is locked, so that the journal has the same order. The queue does
        // no I/O.
        let written = match entry {
            Some(entry) => self.shared.journal.append(&entry, durable)?,
            None => None,
        };
        increment.into_iter().for_each(|increment| self.shared.metrics.add(increment));
        self.send(effects);
        Ok(written)
    }

    /// Sends `effects` to the run loop, and notifies everyone who waits for changes.
    fn send(&self, effects: Vec<Effect>) {
        for effect in effects {
            // The run loop has ended, so nobody needs the effect.
            let _ = self.shared.effects.send(effect);
        }
        self.shared.changed.send_modify(|version| *version = version.wrapping_add(1));
    }
}

/// Returns whether the sender of `event` retries it. Other events are small and few. Without the
/// end of its upload, a result would stay busy, and without a timeout, a plugin would never end.
fn is_retried(event: &Event) -> bool {
    matches!(
        event,
        Event::UploadStarted { .. } | Event::UploadClaimed { .. } | Event::RetryDelayed { .. } | Event::Failed { .. }
    )
}

/// Content of the status file: the status, and the time of the write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Time of the write. If it is older than a few times [`HEARTBEAT`], the aggregator is gone.
    pub at: Timestamp,
    /// The status.
    #[serde(flatten)]
    pub status: RunStatus,
}

/// Writes the status to `path` on every change, until dropped.
pub(crate) async fn publish_status(state: State, disk: Disk, path: PathBuf) {
    let mut changes = state.changes();
    loop {
        changes.mark_unchanged();
        let took = write_status(&state, &disk, &path).await;
        let pause = took.saturating_mul(PUBLISH_SHARE).clamp(PUBLISH_PAUSE, HEARTBEAT / 2);
        tokio::time::sleep(pause).await;
        // Write again after a change or a timeout.
        let _ = tokio::time::timeout(HEARTBEAT, changes.changed()).await;
    }
}

/// Writes the status once, or logs a failure. Returns how long that took, without the sync.
pub(crate) async fn write_status(state: &State, disk: &Disk, path: &Path) -> Duration {
    let start = Instant::now();
    let published = Published { at: Timestamp::now(), status: state.status() };
    let (disk, path, hang) = (disk.clone(), path.to_owned(), state.journal().hang().clone());
    let written = tokio::task::spawn_blocking(move || {
        let _operation = hang.start();
        let file = AtomicFile::create_on(&disk, &path, 0o644)?;
        let mut file = BufWriter::with_capacity(PUBLISH_BUFFER, file);
        serde_json::to_writer(&mut file, &published)?;
        let file = file.into_inner().map_err(IntoInnerError::into_error)?;
        let took = start.elapsed();
        file.commit()?;
        Ok::<_, io::Error>(took)
    });
    written.await.map_err(io::Error::from).flatten().unwrap_or_else(|error| {
        tracing::warn!("failed to write the status file: {error}");
        Duration::ZERO
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_partial_result_is_placed_and_none_after_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open_on(&Disk::default(), &dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(Ledger::default(), journal);
        let keys = ["p/n1", "p/n2", "p/n3", "q/global"].map(|key| key.parse::<ResultKey>().unwrap());
        let [first, second, third, other] = &keys;
        state.ask_partial(&first.plugin);
        state.ask_partial(&other.plugin);
        assert!(state.place_partial(first, || Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(state.place_partial(first, || Ok(())).unwrap(), "again, after a failure");
        assert!(!state.place_partial(first, || panic!("it was first")).unwrap());
        state.keep_partial(second.clone());
        assert!(!state.place_partial(second, || panic!("an earlier process stored one")).unwrap());
        state.end_partial(&first.plugin);
        assert!(!state.place_partial(third, || panic!("its plugin has ended")).unwrap());
        state.end_all_partial();
        assert!(!state.place_partial(other, || panic!("the run has ended")).unwrap());
    }

    #[test]
    fn a_clock_that_is_set_back_still_advances() {
        let clock = Clock::not_before(None);
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
