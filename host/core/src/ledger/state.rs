//! What a ledger holds.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::Timestamp;

use crate::judgement::VerdictSummary;
use crate::ledger::effect::Refusal;
use crate::ledger::entry::{Entry, Judged};
use crate::ledger::event::Event;
use crate::name::{PluginName, ResultKey};
use crate::run_status::TarInfo;

/// The sentence of the error record of a result whose time is over. It contains the word `timeout`, which readers look for.
pub const TIMEOUT_ERROR: &str = "timeout waiting for results";

/// Bytes of the names in all progress states together: 64 MiB. One state is bounded too (see [`crate::progress`]), but thousands of
/// workers at that bound would be too much; names beyond this are left out of the state that would cross it.
pub const MAX_PROGRESS_BYTES: usize = 64 << 20;

/// The one owner of what is expected, what arrived, what failed and what progress was reported.
///
/// # Rules
///
/// * A result that is not planned is [`Refusal::Unexpected`]. One that is in, or has an error recorded, is
///   [`Refusal::AlreadyReceived`]; a late upload never replaces an error. While an upload is under way, another is [`Refusal::Busy`].
/// * A failed upload leaves the result *broken*: not received, but a retry is admitted. The plugin is complete when every other
///   result is in or has failed, nothing is being uploaded and [`RETRY_WINDOW`](super::RETRY_WINDOW) has passed since the last failure; only then does
///   the broken result become an error. Until then it may be retried, however long the plugin's other results take.
/// * A failure that the driver reports while an upload is under way is held back: an upload that began before the failure wins when it
///   is stored, because the result exists and only the sender's host is in trouble (a pod that has ended is often seen before its
///   last bytes are). When the upload fails, the failure counts at once, without a retry: nobody is there to try.
/// * A timeout is held back likewise, but for [`RETRY_WINDOW`](super::RETRY_WINDOW) at most, or a slow sender could stretch the run for hours. An upload
///   stored after that is [`Refusal::AlreadyReceived`].
/// * An upload that is complete is claimed before its files are moved into their place. A claim is refused as the end of the upload
///   would be. From the claim to the end of the upload, no failure, timeout or interruption decides the result.
/// * Progress, hello and heartbeat are accepted of every planned result at all times.
/// * A plugin that was not launched can be withdrawn: its results are unexpected from then on, and the status is as if it had not been
///   planned, but for the reason.
///
/// # Time
///
/// A window ends with [`Ledger::tick`] or with an event of the same plugin. Ticks are not journalled: a replayed ledger that is ticked
/// at the same time is equal, because ending a window later than another process did can only admit more, and what that process
/// admitted is in the journal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    pub(super) plugins: Vec<Plugin>,
    pub(super) by_name: BTreeMap<PluginName, usize>,
    pub(super) entries: Vec<Entry>,
    pub(super) by_key: BTreeMap<ResultKey, usize>,
    pub(super) progress_bytes: usize,
    /// The planning is over: something else happened.
    pub(super) begun: bool,
    pub(super) run_complete: bool,
    pub(super) interrupted: bool,
    pub(super) tar: Option<TarInfo>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plugin {
    pub(super) name: PluginName,
    pub(super) launched: Option<Timestamp>,
    /// Its entries: planned in one go, so they lie side by side.
    pub(super) range: Range<usize>,
    pub(super) complete: bool,
    pub(super) judged: Option<Judged>,
    /// Why it is part of the run no longer. It is complete then, and has no entries.
    pub(super) withdrawn: Option<String>,
    pub(super) verdict: Option<VerdictSummary>,
}

/// A journal that does not follow from itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {index} of the journal does not follow from those before it")]
pub struct ReplayError {
    /// Which event, counted from 0.
    pub index: usize,
    /// What the ledger said.
    #[source]
    pub refusal: Refusal,
}

impl Ledger {
    /// The ledger after `events`. The effects were carried out before, or show in the ledger's state.
    ///
    /// # Errors
    /// [`ReplayError`] when an event is refused: a ledger journals only what it accepted, so the journal is damaged or foreign.
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

    /// The entries of the plugin at `index`; none for an index that there is not.
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
