//! The state of a ledger.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::judgement::VerdictSummary;
use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::{Effect, Event, Refusal, Stored};
use crate::name::{PluginName, ResultKey};
use crate::progress::ProgressUpdate;
use crate::run_status::TarInfo;
use crate::status::Status;

/// The error for a result that timed out. It contains the word `timeout`, which readers look for.
pub const TIMEOUT_ERROR: &str = "timeout waiting for results";

/// The maximum size of the names in all progress states together: 64 MiB.
///
/// One state is limited too (see [`crate::progress`]), but thousands of workers at that limit would
/// be too much. Names beyond the total are dropped from the state that would exceed it.
pub const MAX_PROGRESS_BYTES: usize = 64 << 20;

/// The only record of what is expected, what was received, what failed, and what progress was
/// reported.
///
/// # Rules
///
/// * A result that is not planned is [`Refusal::Unexpected`]. One that was received, or has an
///   error recorded, is [`Refusal::AlreadyReceived`]. A late upload never replaces an error. While
///   an upload is in progress, another one is [`Refusal::Busy`].
/// * A failed upload leaves the result *broken*: it is not received, but a retry is allowed. The
///   plugin completes when every other result was received or has failed, no upload is in progress,
///   and [`RETRY_WINDOW`](super::RETRY_WINDOW) has passed since the last failure. Only then does
///   the broken result become an error. Until then it may be retried, however long the plugin's
///   other results take. After [`FAILED_UPLOADS`](crate::limits::FAILED_UPLOADS), the failure is
///   final. An upload for which this machine had no disk space does not count.
/// * A failure that the driver reports during an upload is held. An upload that started before the
///   failure wins if it is stored: the result exists, and only the sender's host has a problem. A
///   pod that has ended is often seen before its last bytes arrive. If the upload fails, the
///   failure takes effect at once, without a retry, since there is no sender left.
/// * A timeout is held too, but for [`RETRY_WINDOW`](super::RETRY_WINDOW) at most. Otherwise a slow
///   sender could extend the run by hours. An upload stored after that is
///   [`Refusal::AlreadyReceived`].
/// * A result that is broken when its plugin times out may be retried once, until
///   [`RETRY_WINDOW`](super::RETRY_WINDOW) after the timeout. Otherwise a sender whose uploads fail
///   could extend the run without end.
/// * A complete upload is claimed before its files are moved into place. A claim is rejected under
///   the same conditions as the end of the upload. From the claim to the end of the upload, no
///   failure, timeout or interruption decides the result.
/// * Progress, hello and heartbeat are accepted for every planned result at all times.
/// * A plugin that was not launched can be skipped. Its results are unexpected from then on. The
///   status shows the reason, and is otherwise the same as if the plugin had not been planned.
///
/// # Time
///
/// A window ends with [`Ledger::tick`] or with an event of the same plugin. Ticks are not
/// journaled. A replayed ledger is equal after a tick at the same time: ending a window later than
/// another process did can only admit more, and what that process admitted is in the journal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    pub(super) plugins: Vec<Plugin>,
    pub(super) by_name: BTreeMap<PluginName, usize>,
    pub(super) entries: Vec<Entry>,
    pub(super) by_key: HashMap<ResultKey, usize>,
    pub(super) progress_bytes: usize,
    /// The memory of all accepted error records, also of those that an upload has replaced.
    pub(super) error_bytes: usize,
    /// Whether planning is over because another event has happened.
    pub(super) begun: bool,
    pub(super) run_complete: bool,
    pub(super) interrupted: bool,
    pub(super) tar: Option<TarInfo>,
    /// When the latest event happened.
    pub(super) last: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plugin {
    pub(super) name: PluginName,
    pub(super) launched: Option<Timestamp>,
    /// The indices of its entries. They are planned together, so they are adjacent.
    pub(super) range: Range<usize>,
    /// How many of its first entries are final. No check looks at them again, because what is final
    /// stays. Exact after `Ledger::settle`.
    pub(super) decided: usize,
    /// Whether a failure of one of its entries is held.
    pub(super) holds: bool,
    pub(super) complete: bool,
    pub(super) judged: Option<Judged>,
    /// Why the plugin was skipped. It is then complete and has no entries.
    pub(super) skipped: Option<String>,
    /// Why it was planned without entries.
    pub(super) nothing_expected: Option<String>,
    pub(super) verdict: Option<VerdictSummary>,
}

/// Error for a journal with an event that the ledger rejects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {index} of the journal does not follow from those before it")]
pub struct ReplayError {
    /// The index of the event, counted from 0.
    pub index: usize,
    /// The reason for the rejection.
    #[source]
    pub refusal: Refusal,
}

impl Ledger {
    /// Returns the ledger after `events`. Their effects were already carried out, or follow from
    /// the state of the ledger.
    ///
    /// # Errors
    /// Returns a [`ReplayError`] if an event is rejected. A ledger journals only what it accepted,
    /// so the journal is damaged or belongs to another run.
    pub fn replay(events: impl IntoIterator<Item = (Timestamp, Event)>) -> Result<Self, ReplayError> {
        let mut ledger = Self::default();
        for (index, (at, event)) in events.into_iter().enumerate() {
            ledger.apply(at, event).map_err(|refusal| ReplayError { index, refusal })?;
        }
        Ok(ledger)
    }

    pub(super) fn index(&self, key: &ResultKey) -> Result<usize, Refusal> {
        self.by_key.get(key).copied().ok_or_else(|| Refusal::Unexpected(key.clone()))
    }

    /// Returns the index of the plugin of a result.
    pub(super) fn plugin_of(&self, key: &ResultKey) -> Result<usize, Refusal> {
        self.by_name.get(&key.plugin).copied().ok_or_else(|| Refusal::Unexpected(key.clone()))
    }

    pub(super) fn plugin_index(&self, plugin: &PluginName) -> Result<usize, Refusal> {
        self.by_name.get(plugin).copied().ok_or_else(|| Refusal::UnknownPlugin(plugin.clone()))
    }

    pub(super) fn entry(&self, key: &ResultKey) -> Result<&Entry, Refusal> {
        let index = self.index(key)?;
        self.entries.get(index).ok_or_else(|| Refusal::Unexpected(key.clone()))
    }

    pub(super) fn entry_mut(&mut self, key: &ResultKey) -> Result<&mut Entry, Refusal> {
        let index = self.index(key)?;
        self.entries.get_mut(index).ok_or_else(|| Refusal::Unexpected(key.clone()))
    }

    pub(super) fn plugin_mut(&mut self, plugin: &PluginName) -> Result<&mut Plugin, Refusal> {
        let index = self.plugin_index(plugin)?;
        self.plugins.get_mut(index).ok_or_else(|| Refusal::UnknownPlugin(plugin.clone()))
    }

    /// Returns the entries of the plugin at `index`, or none if the index is out of range.
    pub(super) fn entries_of(&self, index: usize) -> &[Entry] {
        self.plugins.get(index).and_then(|plugin| self.entries.get(plugin.range.clone())).unwrap_or_default()
    }

    /// Returns the entries of the plugin at `index` without the final ones at their beginning.
    pub(super) fn undecided(&self, index: usize) -> &[Entry] {
        let decided = self.plugins.get(index).map_or(0, |plugin| plugin.decided);
        self.entries_of(index).get(decided..).unwrap_or_default()
    }

    pub(super) fn entries_of_mut(&mut self, index: usize) -> &mut [Entry] {
        match self.plugins.get(index) {
            Some(plugin) => self.entries.get_mut(plugin.range.clone()).unwrap_or_default(),
            None => &mut [],
        }
    }
}

/// The outcome of post-processing a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The rolled-up status.
    pub status: Status,
    /// The number of leaves by status.
    pub counts: BTreeMap<String, u64>,
}

/// The state of an expected result.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyState {
    /// Nothing was received yet.
    Waiting,
    /// The result is being uploaded.
    Uploading {
        /// The number of the upload.
        upload: u64,
        /// When the upload started.
        since: Timestamp,
    },
    /// An upload failed. A retry is allowed.
    Broken {
        /// When the upload failed.
        at: Timestamp,
        /// The reason.
        reason: String,
    },
    /// The result was received and stored.
    Received {
        /// When the result was stored.
        at: Timestamp,
        /// What was stored.
        stored: Stored,
    },
    /// The result will not arrive.
    Failed {
        /// When the failure became final.
        at: Timestamp,
        /// The error that replaces the result.
        error: ErrorRecord,
    },
}

/// The outcome of a result so far. An upload in progress is stored separately.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Waiting,
    Broken { at: Timestamp, reason: String },
    Received { at: Timestamp, stored: Stored },
    Failed { at: Timestamp, error: ErrorRecord },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Upload {
    pub(super) id: u64,
    pub(super) since: Timestamp,
    /// Whether its files are being moved into place. A held failure waits until the move ends.
    pub(super) claimed: bool,
}

/// A failure that waits for the end of the current upload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    pub(super) error: ErrorRecord,
    /// When the failure stops waiting.
    pub(super) until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: ResultKey,
    pub(super) outcome: Outcome,
    pub(super) upload: Option<Upload>,
    /// Only set together with an upload.
    pub(super) held: Option<Held>,
    /// When the plugin timed out, if the last upload had failed before. The next upload is the last
    /// one.
    pub(super) timed_out: Option<Timestamp>,
    pub(super) failed_uploads: u32,
    /// Boxed, because most results have none.
    pub(super) progress: Option<Box<ProgressUpdate>>,
    pub(super) heard: Option<Timestamp>,
    /// What prevents the result from arriving, while it is expected.
    pub(super) trouble: Option<String>,
    pub(super) judged: Option<Arc<Judged>>,
}

impl Entry {
    pub(super) fn new(key: ResultKey) -> Self {
        Self {
            key,
            outcome: Outcome::Waiting,
            upload: None,
            held: None,
            timed_out: None,
            failed_uploads: 0,
            progress: None,
            heard: None,
            trouble: None,
            judged: None,
        }
    }

    /// Returns whether the result was received or has failed, which cannot change any more.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.outcome, Outcome::Received { .. } | Outcome::Failed { .. })
    }

    /// Returns whether a held failure has stopped waiting for the upload.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.held_until().is_some_and(|until| until <= now)
    }

    /// Returns when the held failure stops waiting for the upload. `None` means that there is no
    /// held failure, or that only the end of the upload matters.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held.as_ref().filter(|_| !self.is_claimed())?.until
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.upload.is_some_and(|upload| upload.claimed)
    }

    /// Returns whether something may still happen at any time: nothing was received yet, or an
    /// upload is in progress.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        !self.is_overdue(now) && (self.upload.is_some() || matches!(self.outcome, Outcome::Waiting))
    }

    /// Returns when the retry window ends, for a result whose upload failed.
    pub(super) fn retry_ends(&self) -> Option<Timestamp> {
        match self.outcome {
            Outcome::Broken { at, .. } => Some(later(at)),
            _ => None,
        }
    }

    /// Records `error`, and stops waiting for an upload.
    pub(super) fn fail(&mut self, at: Timestamp, error: ErrorRecord, effects: &mut Vec<Effect>) {
        effects.push(Effect::ResultFailed { key: self.key.clone(), error: error.clone() });
        self.outcome = Outcome::Failed { at, error };
        self.upload = None;
        self.held = None;
    }

    /// Records `error`, or holds it until the current upload ends, and until this time at most.
    pub(super) fn fail_or_hold(
        &mut self,
        at: Timestamp,
        error: ErrorRecord,
        until: Option<Timestamp>,
        effects: &mut Vec<Effect>,
    ) {
        if self.upload.is_some() {
            self.held = Some(Held { error, until });
            return;
        }
        let error = match &self.outcome {
            Outcome::Broken { reason, .. } => error.with("upload", reason.as_str()),
            _ => error,
        };
        self.fail(at, error, effects);
    }

    pub(super) fn state(&self) -> KeyState {
        match (&self.outcome, self.upload) {
            (Outcome::Received { at, stored }, _) => KeyState::Received { at: *at, stored: stored.clone() },
            (Outcome::Failed { at, error }, _) => KeyState::Failed { at: *at, error: error.clone() },
            (_, Some(upload)) => KeyState::Uploading { upload: upload.id, since: upload.since },
            (Outcome::Broken { at, reason }, None) => KeyState::Broken { at: *at, reason: reason.clone() },
            (Outcome::Waiting, None) => KeyState::Waiting,
        }
    }
}

/// Returns the time [`RETRY_WINDOW`] after `at`, or the latest possible time on overflow.
pub(super) fn later(at: Timestamp) -> Timestamp {
    at.checked_add(RETRY_WINDOW).unwrap_or(Timestamp::MAX)
}

/// How long a plugin waits for the retry of a failed upload once all its other results are
/// received: 120 s. This is longer than the pause between retries of any known worker
/// (docs/protocol.md, "Retries").
pub const RETRY_WINDOW: Duration = Duration::from_secs(120);
