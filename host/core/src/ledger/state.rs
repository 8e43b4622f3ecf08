//! The state of a ledger.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::Timestamp;

use crate::judgement::VerdictSummary;
use crate::ledger::effect::Refusal;
use crate::ledger::entry::{Entry, Judged};
use crate::ledger::event::Event;
use crate::name::{PluginName, ResultKey};
use crate::run_status::TarInfo;

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
///   other results take.
/// * A failure that the driver reports during an upload is held. An upload that started before the
///   failure wins if it is stored: the result exists, and only the sender's host has a problem. A
///   pod that has ended is often seen before its last bytes arrive. If the upload fails, the
///   failure takes effect at once, without a retry, since there is no sender left.
/// * A timeout is held too, but for [`RETRY_WINDOW`](super::RETRY_WINDOW) at most. Otherwise a slow
///   sender could extend the run by hours. An upload stored after that is
///   [`Refusal::AlreadyReceived`].
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
    pub(super) by_key: BTreeMap<ResultKey, usize>,
    pub(super) progress_bytes: usize,
    /// Whether planning is over because another event has happened.
    pub(super) begun: bool,
    pub(super) run_complete: bool,
    pub(super) interrupted: bool,
    pub(super) tar: Option<TarInfo>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plugin {
    pub(super) name: PluginName,
    pub(super) launched: Option<Timestamp>,
    /// The indices of its entries. They are planned together, so they are adjacent.
    pub(super) range: Range<usize>,
    pub(super) complete: bool,
    pub(super) judged: Option<Judged>,
    /// Why the plugin was skipped. It is then complete and has no entries.
    pub(super) skipped: Option<String>,
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
    ///
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

    pub(super) fn entries_of_mut(&mut self, index: usize) -> &mut [Entry] {
        match self.plugins.get(index) {
            Some(plugin) => self.entries.get_mut(plugin.range.clone()).unwrap_or_default(),
            None => &mut [],
        }
    }
}
