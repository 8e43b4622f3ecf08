//! How each event changes the ledger.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::effect::MAX_EXPECTED;
use crate::ledger::effect::{Effect, Refusal};
use crate::ledger::entry::{Entry, Held, Judged, Outcome, Upload, later};
use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::{Event, Stored};
use crate::ledger::state::{Ledger, Plugin, TIMEOUT_ERROR};
use crate::name::{PluginName, ResultKey};
use crate::run_status::{MAX_REASON, TarInfo};
use crate::text::excerpt;

/// Characters kept of the place that a worker spoke from.
const MAX_FROM: usize = 300;

/// The sentence for a result that was missing when the run was ended.
const INTERRUPTED_ERROR: &str = "the run was interrupted before this result arrived";

/// What an event leaves to look at: windows and completions.
pub(super) enum Look {
    Nowhere,
    At(usize),
    Everywhere,
}

impl Ledger {
    /// Takes in an event that happened at `at`, and says what to do.
    ///
    /// Events that touch many results end the windows that are over at `at` first, as a tick would have done: whether somebody ticked
    /// in between makes no difference to what is recorded.
    ///
    /// All plugins are planned before the first other event: a run whose planned plugins are all complete is complete with the first
    /// event that is not [`Event::Planned`], or with a tick, and nothing is planned after that.
    ///
    /// # Errors
    /// [`Refusal`]; the ledger has not changed and the event is not to be journalled.
    pub fn apply(&mut self, at: Timestamp, event: Event) -> Result<Vec<Effect>, Refusal> {
        let mut effects = Vec::new();
        let planning = matches!(event, Event::Planned { .. });
        let look = self.take_in(at, event, &mut effects)?;
        self.begun |= !planning;
        match look {
            Look::Nowhere => {}
            Look::At(index) => self.settle(index, at, &mut effects),
            Look::Everywhere => self.settle_all(at, &mut effects),
        }
        self.settle_run(&mut effects);
        Ok(effects)
    }

    fn take_in(&mut self, at: Timestamp, event: Event, effects: &mut Vec<Effect>) -> Result<Look, Refusal> {
        match event {
            Event::Planned { plugin, keys } => self.planned(at, plugin, keys, effects),
            Event::Launched { plugin } => {
                self.plugin_mut(&plugin)?.launched.get_or_insert(at);
                effects.push(Effect::StatusChanged);
                Ok(Look::Nowhere)
            }
            Event::LaunchFailed { plugin, reason } => self.launch_failed(at, &plugin, &reason, effects),
            Event::Withdrawn { plugin, reason } => self.withdraw(&plugin, &reason, effects),
            Event::Hello { key, from } => {
                let entry = self.entry_mut(&key)?;
                entry.heard = Some(at);
                entry.from = Some(from.chars().take(MAX_FROM).collect());
                effects.push(Effect::StatusChanged);
                Ok(Look::Nowhere)
            }
            Event::Heartbeat { key } => {
                self.entry_mut(&key)?.heard = Some(at);
                Ok(Look::Nowhere)
            }
            Event::Trouble { key, reason } => {
                self.entry_mut(&key)?.trouble = reason.map(|reason| excerpt(&reason, MAX_REASON));
                effects.push(Effect::StatusChanged);
                Ok(Look::Nowhere)
            }
            Event::Progress { key, update } => self.progressed(at, &key, update, effects),
            Event::UploadStarted { key, upload } => self.upload_started(at, &key, upload, effects),
            Event::UploadClaimed { key, upload } => self.upload_claimed(at, &key, upload),
            Event::UploadStored { key, upload, stored } => self.upload_stored(at, key, upload, stored, effects),
            Event::UploadFailed { key, upload, reason } => self.upload_failed(at, &key, upload, reason, effects),
            Event::Failed { key, error } => self.failed(at, &key, error, effects),
            Event::TimedOut { plugin } => self.timed_out(at, &plugin, effects),
            Event::PostProcessed { key, status, counts } => {
                self.entry_mut(&key)?.judged = Some(Judged { status, counts });
                effects.push(Effect::StatusChanged);
                Ok(Look::Nowhere)
            }
            Event::PluginPostProcessed { plugin, status, counts } => {
                self.plugin_mut(&plugin)?.judged = Some(Judged { status, counts });
                effects.push(Effect::StatusChanged);
                Ok(Look::Nowhere)
            }
            Event::PluginJudged { plugin, summary } => {
                self.plugin_mut(&plugin)?.verdict = Some(summary);
                effects.push(Effect::StatusChanged);
                Ok(Look::Nowhere)
            }
            Event::Archived { tar } => self.archived(tar, effects),
            Event::Interrupted => Ok(self.interrupted(at, effects)),
            Event::Restarted => Ok(self.restarted(at, effects)),
        }
    }

    /// Whether an upload of `key` may begin now, as far as the last event or tick knows: what a server asks before it reads a body.
    ///
    /// # Errors
    /// [`Refusal::Unexpected`], [`Refusal::AlreadyReceived`] or [`Refusal::Busy`].
    pub fn admit(&self, key: &ResultKey) -> Result<(), Refusal> {
        let entry = self.entry(key)?;
        // A held failure counts as soon as the upload under way fails, so there is nothing to try again for.
        if entry.is_final() || entry.held.is_some() {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        match entry.upload {
            Some(_) => Err(Refusal::Busy(key.clone())),
            None => Ok(()),
        }
    }

    fn planned(
        &mut self,
        at: Timestamp,
        plugin: PluginName,
        keys: Vec<ResultKey>,
        effects: &mut Vec<Effect>,
    ) -> Result<Look, Refusal> {
        // The last window may be over although nobody ticked.
        let over = self.begun && !self.plugins.is_empty() && self.is_complete(at);
        if self.run_complete || self.interrupted || over {
            return Err(Refusal::RunOver(plugin));
        }
        if self.by_name.contains_key(&plugin) {
            return Err(Refusal::AlreadyPlanned(plugin));
        }
        let total = self.entries.len().saturating_add(keys.len());
        if total > MAX_EXPECTED {
            return Err(Refusal::TooMany(total));
        }
        let mut seen = BTreeSet::new();
        if let Some(key) = keys.iter().find(|key| key.plugin != plugin || !seen.insert(*key)) {
            return Err(Refusal::BadPlan { plugin, key: key.clone() });
        }
        let index = self.plugins.len();
        let start = self.entries.len();
        for key in keys {
            self.by_key.insert(key.clone(), self.entries.len());
            self.entries.push(Entry::new(key));
        }
        let range = start..self.entries.len();
        self.by_name.insert(plugin.clone(), index);
        self.plugins.push(Plugin {
            name: plugin,
            launched: None,
            range,
            complete: false,
            judged: None,
            verdict: None,
            withdrawn: None,
        });
        effects.push(Effect::StatusChanged);
        Ok(Look::At(index))
    }

    fn launch_failed(
        &mut self,
        at: Timestamp,
        plugin: &PluginName,
        reason: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<Look, Refusal> {
        let index = self.plugin_index(plugin)?;
        self.settle(index, at, effects);
        for entry in self.entries_of_mut(index).iter_mut().filter(|entry| !entry.is_final() && entry.held.is_none()) {
            fail_or_hold(entry, at, ErrorRecord::new(reason), None, effects);
        }
        effects.push(Effect::StatusChanged);
        Ok(Look::At(index))
    }

    fn upload_started(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        id: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<Look, Refusal> {
        self.admit(key)?;
        let plugin = self.plugin_index(&key.plugin)?;
        // The window may be over although nobody ticked: what is complete at `at` stays complete.
        if self.is_due(plugin, at) {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        self.entry_mut(key)?.upload = Some(Upload { id, since: at, claimed: false });
        effects.push(Effect::StatusChanged);
        Ok(Look::Nowhere)
    }

    /// Refuses an upload that is not the one under way, or that comes too late.
    fn check_upload(&self, at: Timestamp, key: &ResultKey, id: u64) -> Result<(), Refusal> {
        let entry = self.entry(key)?;
        if entry.is_final() || entry.is_overdue(at) {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        match entry.upload {
            Some(upload) if upload.id == id => Ok(()),
            _ => Err(Refusal::StaleUpload { key: key.clone(), upload: id }),
        }
    }

    fn upload_claimed(&mut self, at: Timestamp, key: &ResultKey, id: u64) -> Result<Look, Refusal> {
        self.check_upload(at, key, id)?;
        match &mut self.entry_mut(key)?.upload {
            Some(upload) if !upload.claimed => upload.claimed = true,
            _ => return Err(Refusal::StaleUpload { key: key.clone(), upload: id }),
        }
        Ok(Look::Nowhere)
    }

    fn upload_stored(
        &mut self,
        at: Timestamp,
        key: ResultKey,
        id: u64,
        stored: Stored,
        effects: &mut Vec<Effect>,
    ) -> Result<Look, Refusal> {
        self.check_upload(at, &key, id)?;
        let plugin = self.plugin_index(&key.plugin)?;
        let entry = self.entry_mut(&key)?;
        entry.outcome = Outcome::Received { at, stored };
        entry.upload = None;
        entry.held = None;
        effects.push(Effect::ResultReceived { key });
        effects.push(Effect::StatusChanged);
        Ok(Look::At(plugin))
    }

    fn upload_failed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        id: u64,
        reason: String,
        effects: &mut Vec<Effect>,
    ) -> Result<Look, Refusal> {
        self.check_upload(at, key, id)?;
        let plugin = self.plugin_index(&key.plugin)?;
        let entry = self.entry_mut(key)?;
        entry.upload = None;
        match entry.held.take() {
            Some(held) => fail(entry, at, held.error.with("upload", reason), effects),
            None => entry.outcome = Outcome::Broken { at, reason },
        }
        effects.push(Effect::StatusChanged);
        Ok(Look::At(plugin))
    }

    fn failed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        error: ErrorRecord,
        effects: &mut Vec<Effect>,
    ) -> Result<Look, Refusal> {
        let plugin = self.plugin_index(&key.plugin).map_err(|_| Refusal::Unexpected(key.clone()))?;
        let due = self.is_due(plugin, at);
        let entry = self.entry_mut(key)?;
        if due || entry.is_final() || entry.held.is_some() {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        fail_or_hold(entry, at, error, None, effects);
        effects.push(Effect::StatusChanged);
        Ok(Look::At(plugin))
    }

    fn timed_out(&mut self, at: Timestamp, plugin: &PluginName, effects: &mut Vec<Effect>) -> Result<Look, Refusal> {
        let index = self.plugin_index(plugin)?;
        self.settle(index, at, effects);
        for entry in self.entries_of_mut(index).iter_mut().filter(|entry| !entry.is_final()) {
            match (&mut entry.held, &entry.outcome) {
                (Some(held), _) => held.until = Some(held.until.map_or(later(at), |until| until.min(later(at)))),
                // Its window is short and ends by itself, and its own reason says more.
                (None, Outcome::Broken { .. }) if entry.upload.is_none() => {}
                (None, _) => fail_or_hold(entry, at, ErrorRecord::new(TIMEOUT_ERROR), Some(later(at)), effects),
            }
        }
        effects.push(Effect::StatusChanged);
        Ok(Look::At(index))
    }

    fn archived(&mut self, tar: TarInfo, effects: &mut Vec<Effect>) -> Result<Look, Refusal> {
        self.tar = Some(tar);
        effects.push(Effect::StatusChanged);
        Ok(Look::Nowhere)
    }

    /// A run that has its archive is over and cannot be interrupted.
    fn interrupted(&mut self, at: Timestamp, effects: &mut Vec<Effect>) -> Look {
        if self.tar.is_some() || self.interrupted {
            return Look::Nowhere;
        }
        self.interrupted = true;
        self.settle_all(at, effects);
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_final()) {
            let error = match (entry.held.take(), &entry.outcome) {
                (Some(held), _) => held.error,
                (None, Outcome::Broken { reason, .. }) => upload_error(reason),
                (None, _) => ErrorRecord::new(INTERRUPTED_ERROR),
            };
            if entry.is_claimed() {
                entry.held = Some(Held { error, until: None });
            } else {
                fail(entry, at, error, effects);
            }
        }
        effects.push(Effect::StatusChanged);
        Look::Everywhere
    }

    /// An upload that ended with the old process was not its sender's failure: the result is awaited as before.
    fn restarted(&mut self, at: Timestamp, effects: &mut Vec<Effect>) -> Look {
        self.settle_all(at, effects);
        for entry in self.entries.iter_mut().filter(|entry| entry.upload.is_some()) {
            entry.upload = None;
            if let Some(held) = entry.held.take() {
                fail(entry, at, held.error.with("upload", "the aggregator was restarted"), effects);
            } else if let Outcome::Broken { at: since, .. } = &mut entry.outcome {
                // The retry that was under way gets its full window again.
                *since = (*since).max(at);
            }
        }
        effects.push(Effect::StatusChanged);
        Look::Everywhere
    }
}

/// Records a failure, or holds it back behind the upload under way.
fn fail_or_hold(
    entry: &mut Entry,
    at: Timestamp,
    error: ErrorRecord,
    until: Option<Timestamp>,
    effects: &mut Vec<Effect>,
) {
    if entry.upload.is_some() {
        entry.held = Some(Held { error, until });
        return;
    }
    let error = match &entry.outcome {
        Outcome::Broken { reason, .. } => error.with("upload", reason.as_str()),
        _ => error,
    };
    fail(entry, at, error, effects);
}

/// Records a failure for good.
pub(super) fn fail(entry: &mut Entry, at: Timestamp, error: ErrorRecord, effects: &mut Vec<Effect>) {
    effects.push(Effect::ResultFailed { key: entry.key.clone(), error: error.clone() });
    entry.fail(at, error);
}

/// The record of a result whose upload failed and was not retried in time.
pub(super) fn upload_error(reason: &str) -> ErrorRecord {
    ErrorRecord::new(format!("upload failed and was not retried: {reason}"))
}
