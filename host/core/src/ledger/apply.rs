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

/// The maximum length in characters of a worker's address.
const MAX_FROM: usize = 300;

/// The error for a result that was missing when the run was interrupted.
const INTERRUPTED_ERROR: &str = "the run was interrupted before this result arrived";

/// Where an event requires checking windows and completions.
pub(super) enum SettleScope {
    Nowhere,
    At(usize),
    Everywhere,
}

impl Ledger {
    /// Applies an event that happened at `at`, and returns the resulting effects.
    ///
    /// Events that affect many results first end the windows that are over at `at`, as a tick would
    /// have done. What is recorded does therefore not depend on ticks in between.
    ///
    /// All plugins are planned before any other event. If all planned plugins are complete, the
    /// first event other than [`Event::Planned`], or a tick, completes the run. Nothing can be
    /// planned after that.
    ///
    /// # Errors
    ///
    /// Returns a [`Refusal`]. The ledger is then unchanged, and the event must not be journaled.
    pub fn apply(&mut self, at: Timestamp, event: Event) -> Result<Vec<Effect>, Refusal> {
        let mut effects = Vec::new();
        let planning = matches!(event, Event::Planned { .. });
        let look = self.take_in(at, event, &mut effects)?;
        self.begun |= !planning;
        match look {
            SettleScope::Nowhere => {}
            SettleScope::At(index) => self.settle(index, at, &mut effects),
            SettleScope::Everywhere => self.settle_all(at, &mut effects),
        }
        self.settle_run(&mut effects);
        Ok(effects)
    }

    fn take_in(&mut self, at: Timestamp, event: Event, effects: &mut Vec<Effect>) -> Result<SettleScope, Refusal> {
        match event {
            Event::Planned { plugin, keys } => self.planned(at, plugin, keys, effects),
            Event::Launched { plugin } => {
                self.plugin_mut(&plugin)?.launched.get_or_insert(at);
                effects.push(Effect::StatusChanged);
                Ok(SettleScope::Nowhere)
            }
            Event::LaunchFailed { plugin, reason } => self.launch_failed(at, &plugin, &reason, effects),
            Event::Skipped { plugin, reason } => self.skip(&plugin, &reason, effects),
            Event::Hello { key, from } => {
                let entry = self.entry_mut(&key)?;
                entry.heard = Some(at);
                entry.from = Some(from.chars().take(MAX_FROM).collect());
                effects.push(Effect::StatusChanged);
                Ok(SettleScope::Nowhere)
            }
            Event::Heartbeat { key } => {
                self.entry_mut(&key)?.heard = Some(at);
                Ok(SettleScope::Nowhere)
            }
            Event::Problem { key, reason } => {
                self.entry_mut(&key)?.trouble = reason.map(|reason| excerpt(&reason, MAX_REASON));
                effects.push(Effect::StatusChanged);
                Ok(SettleScope::Nowhere)
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
                Ok(SettleScope::Nowhere)
            }
            Event::PluginPostProcessed { plugin, status, counts } => {
                self.plugin_mut(&plugin)?.judged = Some(Judged { status, counts });
                effects.push(Effect::StatusChanged);
                Ok(SettleScope::Nowhere)
            }
            Event::PluginJudged { plugin, summary } => {
                self.plugin_mut(&plugin)?.verdict = Some(summary);
                effects.push(Effect::StatusChanged);
                Ok(SettleScope::Nowhere)
            }
            Event::Archived { tar } => self.archived(tar, effects),
            Event::Interrupted => Ok(self.interrupted(at, effects)),
            Event::Restarted => Ok(self.restarted(at, effects)),
        }
    }

    /// Checks whether an upload of `key` may start now, as of the last event or tick. A server
    /// calls it before it reads a body.
    ///
    /// # Errors
    ///
    /// Returns [`Refusal::Unexpected`], [`Refusal::AlreadyReceived`] or [`Refusal::Busy`].
    pub fn admit(&self, key: &ResultKey) -> Result<(), Refusal> {
        let entry = self.entry(key)?;
        // A held failure takes effect as soon as the current upload fails, so a retry is pointless.
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
    ) -> Result<SettleScope, Refusal> {
        // The last window may be over without a tick.
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
            skipped: None,
        });
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::At(index))
    }

    fn launch_failed(
        &mut self,
        at: Timestamp,
        plugin: &PluginName,
        reason: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<SettleScope, Refusal> {
        let index = self.plugin_index(plugin)?;
        self.settle(index, at, effects);
        for entry in self.entries_of_mut(index).iter_mut().filter(|entry| !entry.is_final() && entry.held.is_none()) {
            fail_or_hold(entry, at, ErrorRecord::new(reason), None, effects);
        }
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::At(index))
    }

    fn upload_started(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        id: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<SettleScope, Refusal> {
        self.admit(key)?;
        let plugin = self.plugin_index(&key.plugin)?;
        // The window may be over without a tick. What is complete at `at` stays complete.
        if self.is_due(plugin, at) {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        self.entry_mut(key)?.upload = Some(Upload { id, since: at, claimed: false });
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::Nowhere)
    }

    /// Rejects an upload that is not the current one, or that is too late.
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

    fn upload_claimed(&mut self, at: Timestamp, key: &ResultKey, id: u64) -> Result<SettleScope, Refusal> {
        self.check_upload(at, key, id)?;
        match &mut self.entry_mut(key)?.upload {
            Some(upload) if !upload.claimed => upload.claimed = true,
            _ => return Err(Refusal::StaleUpload { key: key.clone(), upload: id }),
        }
        Ok(SettleScope::Nowhere)
    }

    fn upload_stored(
        &mut self,
        at: Timestamp,
        key: ResultKey,
        id: u64,
        stored: Stored,
        effects: &mut Vec<Effect>,
    ) -> Result<SettleScope, Refusal> {
        self.check_upload(at, &key, id)?;
        let plugin = self.plugin_index(&key.plugin)?;
        let entry = self.entry_mut(&key)?;
        entry.outcome = Outcome::Received { at, stored };
        entry.upload = None;
        entry.held = None;
        effects.push(Effect::ResultReceived { key });
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::At(plugin))
    }

    fn upload_failed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        id: u64,
        reason: String,
        effects: &mut Vec<Effect>,
    ) -> Result<SettleScope, Refusal> {
        self.check_upload(at, key, id)?;
        let plugin = self.plugin_index(&key.plugin)?;
        let entry = self.entry_mut(key)?;
        entry.upload = None;
        match entry.held.take() {
            Some(held) => fail(entry, at, held.error.with("upload", reason), effects),
            None => entry.outcome = Outcome::Broken { at, reason },
        }
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::At(plugin))
    }

    fn failed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        error: ErrorRecord,
        effects: &mut Vec<Effect>,
    ) -> Result<SettleScope, Refusal> {
        let plugin = self.plugin_index(&key.plugin).map_err(|_| Refusal::Unexpected(key.clone()))?;
        let due = self.is_due(plugin, at);
        let entry = self.entry_mut(key)?;
        if due || entry.is_final() || entry.held.is_some() {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        fail_or_hold(entry, at, error, None, effects);
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::At(plugin))
    }

    fn timed_out(
        &mut self,
        at: Timestamp,
        plugin: &PluginName,
        effects: &mut Vec<Effect>,
    ) -> Result<SettleScope, Refusal> {
        let index = self.plugin_index(plugin)?;
        self.settle(index, at, effects);
        for entry in self.entries_of_mut(index).iter_mut().filter(|entry| !entry.is_final()) {
            match (&mut entry.held, &entry.outcome) {
                (Some(held), _) => held.until = Some(held.until.map_or(later(at), |until| until.min(later(at)))),
                // Its retry window is short and ends by itself, and the reason of the failed upload
                // is more specific.
                (None, Outcome::Broken { .. }) if entry.upload.is_none() => {}
                (None, _) => fail_or_hold(entry, at, ErrorRecord::new(TIMEOUT_ERROR), Some(later(at)), effects),
            }
        }
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::At(index))
    }

    fn archived(&mut self, tar: TarInfo, effects: &mut Vec<Effect>) -> Result<SettleScope, Refusal> {
        self.tar = Some(tar);
        effects.push(Effect::StatusChanged);
        Ok(SettleScope::Nowhere)
    }

    /// Interrupts the run. A run that has its archive has finished and cannot be interrupted.
    fn interrupted(&mut self, at: Timestamp, effects: &mut Vec<Effect>) -> SettleScope {
        if self.tar.is_some() || self.interrupted {
            return SettleScope::Nowhere;
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
        SettleScope::Everywhere
    }

    /// Drops uploads that ended with the old process. The sender did not cause that, so the results
    /// are still expected.
    fn restarted(&mut self, at: Timestamp, effects: &mut Vec<Effect>) -> SettleScope {
        self.settle_all(at, effects);
        for entry in self.entries.iter_mut().filter(|entry| entry.upload.is_some()) {
            entry.upload = None;
            if let Some(held) = entry.held.take() {
                fail(entry, at, held.error.with("upload", "the aggregator was restarted"), effects);
            } else if let Outcome::Broken { at: since, .. } = &mut entry.outcome {
                // The retry that was in progress gets its full window again.
                *since = (*since).max(at);
            }
        }
        effects.push(Effect::StatusChanged);
        SettleScope::Everywhere
    }
}

/// Records a failure, or holds it until the current upload ends.
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

/// Records a final failure.
pub(super) fn fail(entry: &mut Entry, at: Timestamp, error: ErrorRecord, effects: &mut Vec<Effect>) {
    effects.push(Effect::ResultFailed { key: entry.key.clone(), error: error.clone() });
    entry.fail(at, error);
}

/// Returns the error record for a failed upload that was not retried in time.
pub(super) fn upload_error(reason: &str) -> ErrorRecord {
    ErrorRecord::new(format!("upload failed and was not retried: {reason}"))
}
