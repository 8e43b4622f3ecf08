//! How events and time change the ledger.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::{Effect, Event, MAX_EXPECTED, Refusal, Stored};
use crate::ledger::state::{
    Entry, Held, Judged, Ledger, MAX_PROGRESS_BYTES, Outcome, Plugin, TIMEOUT_ERROR, Upload, later,
};
use crate::limits::{ERRORS_BYTES, FAILED_UPLOADS, LEAST_ERROR_BYTES};
use crate::name::{PluginName, ResultKey};
use crate::progress::{ProgressUpdate, combine};
use crate::run_status::MAX_REASON;
use crate::text::{excerpt, first_chars};

/// The maximum length in characters of the reason for skipping a plugin. It is part of every
/// status.
pub const MAX_SKIP_REASON: usize = 500;

/// The maximum length in characters of the reason of a failed upload, which the journal keeps.
const MAX_UPLOAD_REASON: usize = 1_000;

/// The error for a result that was missing when the run was interrupted.
const INTERRUPTED_ERROR: &str = "the run was interrupted before this result arrived";

/// Where an event requires checking windows and completions.
enum SettleScope {
    /// Nothing that the status shows has changed.
    Silent,
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
    /// first event that is not planning, or a tick, completes the run. Nothing can be planned after
    /// that.
    ///
    /// # Errors
    /// Returns a [`Refusal`]. The ledger is then unchanged, and the event must not be journaled.
    pub fn apply(&mut self, at: Timestamp, event: Event) -> Result<Vec<Effect>, Refusal> {
        let mut effects = Vec::new();
        let planning = matches!(event, Event::Planned { .. } | Event::NothingExpected { .. });
        let scope = self.record(at, event, &mut effects)?;
        self.begun |= !planning;
        self.last = self.last.max(Some(at));
        if !matches!(scope, SettleScope::Silent) {
            effects.push(Effect::StatusChanged);
        }
        match scope {
            SettleScope::Silent | SettleScope::Nowhere => {}
            SettleScope::At(index) => self.settle(index, at, &mut effects),
            SettleScope::Everywhere => self.settle_all(at, &mut effects),
        }
        self.settle_run(&mut effects);
        Ok(effects)
    }

    fn record(&mut self, at: Timestamp, event: Event, effects: &mut Vec<Effect>) -> Result<SettleScope, Refusal> {
        match event {
            Event::Planned { plugin, keys } => self.planned(at, plugin, keys),
            Event::NothingExpected { plugin, reason } => {
                self.plugin_mut(&plugin)?.nothing_expected = Some(excerpt(&reason, MAX_REASON));
                Ok(SettleScope::Nowhere)
            }
            Event::Launched { plugin } => {
                self.plugin_mut(&plugin)?.launched.get_or_insert(at);
                Ok(SettleScope::Nowhere)
            }
            Event::LaunchFailed { plugin, reason } => self.launch_failed(at, &plugin, &reason, effects),
            Event::Skipped { plugin, reason } => self.skip(&plugin, &reason, effects),
            Event::Hello { key } => {
                self.entry_mut(&key)?.heard = Some(at);
                Ok(SettleScope::Nowhere)
            }
            Event::Heartbeat { key } => {
                self.entry_mut(&key)?.heard = Some(at);
                Ok(SettleScope::Silent)
            }
            Event::Problem { key, reason } => {
                self.entry_mut(&key)?.trouble = reason.map(|reason| excerpt(&reason, MAX_REASON));
                Ok(SettleScope::Nowhere)
            }
            Event::Progress { key, update } => self.progressed(at, &key, update),
            Event::UploadStarted { key, upload } => self.upload_started(at, &key, upload),
            Event::UploadClaimed { key, upload } => self.upload_claimed(at, &key, upload),
            Event::UploadStored { key, upload, stored } => self.upload_stored(at, key, upload, stored, effects),
            Event::UploadFailed { key, upload, reason } => self.upload_failed(at, &key, upload, reason, effects),
            Event::RetryDelayed { key, reason } => self.retry_delayed(at, &key, reason),
            Event::Failed { key, error } => self.failed(at, &key, error, effects),
            Event::TimedOut { plugin } => self.timed_out(at, &plugin, effects),
            Event::PostProcessed { key, status, counts } => self.post_processed(&key, Judged { status, counts }),
            Event::PluginPostProcessed { plugin, status, counts } => {
                self.plugin_mut(&plugin)?.judged = Some(Judged { status, counts });
                Ok(SettleScope::Nowhere)
            }
            Event::PluginJudged { plugin, summary } => {
                self.plugin_mut(&plugin)?.verdict = Some(summary);
                Ok(SettleScope::Nowhere)
            }
            Event::Archived { tar } => {
                self.tar = Some(tar);
                Ok(SettleScope::Nowhere)
            }
            Event::Interrupted => Ok(self.interrupted(at, effects)),
            Event::Restarted => Ok(self.restarted(at, effects)),
        }
    }

    /// Returns `event` within the limits on what the run keeps of errors. Call it before
    /// [`Ledger::apply`], so that the journal keeps the limits too.
    #[must_use]
    pub fn bounded(&self, event: Event) -> Event {
        match event {
            Event::Failed { key, error } => {
                let left = ERRORS_BYTES.saturating_sub(self.error_bytes);
                Event::Failed { key, error: error.bounded(left.max(LEAST_ERROR_BYTES)) }
            }
            Event::UploadFailed { key, upload, reason } => {
                Event::UploadFailed { key, upload, reason: first_chars(&reason, MAX_UPLOAD_REASON).to_owned() }
            }
            other => other,
        }
    }

    /// Checks whether an upload of `key` may start now, as of the last event or tick. A server
    /// calls it before it reads a body.
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

    fn planned(&mut self, at: Timestamp, plugin: PluginName, keys: Vec<ResultKey>) -> Result<SettleScope, Refusal> {
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
        self.by_key.reserve(keys.len());
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
            decided: 0,
            holds: false,
            complete: false,
            judged: None,
            verdict: None,
            skipped: None,
            nothing_expected: None,
        });
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
        self.look_for_held(index);
        Ok(SettleScope::At(index))
    }

    fn upload_started(&mut self, at: Timestamp, key: &ResultKey, id: u64) -> Result<SettleScope, Refusal> {
        self.admit(key)?;
        let plugin = self.plugin_index(&key.plugin)?;
        // The window may be over without a tick. What is complete at `at` stays complete.
        if self.is_due(plugin, at) {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        let entry = self.entry_mut(key)?;
        entry.upload = Some(Upload { id, since: at, claimed: false });
        let timeout = |at| Held { error: ErrorRecord::new(TIMEOUT_ERROR), until: Some(later(at)) };
        entry.held = entry.timed_out.map(timeout);
        let holds = entry.held.is_some();
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.holds |= holds;
        }
        Ok(SettleScope::Nowhere)
    }

    /// Starts the retry window again. Nothing happens to a result without a failed upload.
    fn retry_delayed(&mut self, at: Timestamp, key: &ResultKey, reason: String) -> Result<SettleScope, Refusal> {
        self.admit(key)?;
        let plugin = self.plugin_index(&key.plugin)?;
        if self.is_due(plugin, at) {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        let entry = self.entry_mut(key)?;
        if matches!(entry.outcome, Outcome::Broken { .. }) {
            entry.outcome = Outcome::Broken { at, reason };
            entry.timed_out = entry.timed_out.map(|_| at);
        }
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
        Ok(SettleScope::Silent)
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
        entry.failed_uploads = entry.failed_uploads.saturating_add(1);
        match entry.held.take() {
            Some(held) => fail(entry, at, held.error.with("upload", reason), effects),
            None if entry.failed_uploads >= FAILED_UPLOADS => fail(entry, at, too_many_uploads(&reason), effects),
            None => entry.outcome = Outcome::Broken { at, reason },
        }
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
        let memory = error.memory();
        fail_or_hold(entry, at, error, None, effects);
        let holds = entry.held.is_some();
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.holds |= holds;
        }
        self.error_bytes = self.error_bytes.saturating_add(memory);
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
                // is more specific. A retry in this window must end in time.
                (None, Outcome::Broken { .. }) if entry.upload.is_none() => {
                    entry.timed_out.get_or_insert(at);
                }
                (None, _) => fail_or_hold(entry, at, ErrorRecord::new(TIMEOUT_ERROR), Some(later(at)), effects),
            }
        }
        self.look_for_held(index);
        Ok(SettleScope::At(index))
    }

    /// Records the outcome of a result. Adjacent results with the same outcome share it, because most
    /// nodes have the same one.
    fn post_processed(&mut self, key: &ResultKey, judged: Judged) -> Result<SettleScope, Refusal> {
        let index = self.index(key)?;
        let before = index.checked_sub(1).and_then(|before| self.entries.get(before)?.judged.clone());
        let same = before.filter(|before| **before == judged);
        self.entry_mut(key)?.judged = Some(same.unwrap_or_else(|| Arc::new(judged)));
        Ok(SettleScope::Nowhere)
    }

    /// Interrupts the run. A run that has its archive has finished and cannot be interrupted.
    fn interrupted(&mut self, at: Timestamp, effects: &mut Vec<Effect>) -> SettleScope {
        if self.tar.is_some() || self.interrupted {
            return SettleScope::Silent;
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
        (0..self.plugins.len()).for_each(|index| self.look_for_held(index));
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
        SettleScope::Everywhere
    }

    /// Ends the windows that are over at `now`, and returns the resulting effects. See
    /// [`Ledger::next_deadline`] for when to call it.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.settle_all(now, &mut effects);
        // Only a run that waits for something is ticked, so planning is over.
        self.begun |= !self.plugins.is_empty();
        self.settle_run(&mut effects);
        if !effects.is_empty() && !effects.contains(&Effect::StatusChanged) {
            effects.push(Effect::StatusChanged);
        }
        effects
    }

    fn settle_all(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        for index in 0..self.plugins.len() {
            self.settle(index, now, effects);
        }
    }

    /// Returns whether nothing more can happen to the plugin at `now`: no result is expected, no
    /// upload is in progress, and no retry window is open.
    pub(super) fn is_due(&self, plugin: usize, now: Timestamp) -> bool {
        self.undecided(plugin).iter().all(|entry| {
            !entry.is_open(now) && (entry.is_overdue(now) || entry.retry_ends().is_none_or(|end| end <= now))
        })
    }

    fn settle(&mut self, plugin: usize, now: Timestamp, effects: &mut Vec<Effect>) {
        if self.plugins.get(plugin).is_none_or(|plugin| plugin.complete) {
            return;
        }
        if self.plugins.get(plugin).is_some_and(|plugin| plugin.holds) {
            for entry in self.entries_of_mut(plugin).iter_mut().filter(|entry| entry.is_overdue(now)) {
                if let Some(held) = entry.held.take() {
                    fail(entry, held.until.unwrap_or(now), held.error, effects);
                }
            }
            self.look_for_held(plugin);
        }
        if self.is_due(plugin, now) {
            self.complete(plugin, effects);
        }
        self.pass_decided(plugin);
    }

    /// Completes a plugin to which nothing more can happen.
    fn complete(&mut self, plugin: usize, effects: &mut Vec<Effect>) {
        for entry in self.entries_of_mut(plugin) {
            if let Outcome::Broken { at, reason } = &entry.outcome {
                let (at, error) = (*at, upload_error(reason));
                fail(entry, at, error, effects);
            }
        }
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.complete = true;
            effects.push(Effect::PluginComplete { plugin: plugin.name.clone() });
        }
    }

    /// Passes over entries that have become final. With thousands of entries, each event would
    /// otherwise look at all of them.
    fn pass_decided(&mut self, plugin: usize) {
        let passed = self.undecided(plugin).iter().take_while(|entry| entry.is_final()).count();
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.decided += passed;
        }
    }

    /// Determines whether a failure of the plugin is held.
    fn look_for_held(&mut self, plugin: usize) {
        let holds = self.undecided(plugin).iter().any(|entry| entry.held.is_some());
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.holds = holds;
        }
    }

    fn settle_run(&mut self, effects: &mut Vec<Effect>) {
        let all = !self.plugins.is_empty() && self.plugins.iter().all(|plugin| plugin.complete);
        if all && self.begun && !self.run_complete {
            self.run_complete = true;
            effects.push(Effect::RunComplete);
        }
    }

    /// Removes the entries of a plugin as if they had never been planned. Later entries move up:
    /// this happens only a few times in a run, and otherwise every lookup would have to skip the
    /// gap.
    fn skip(&mut self, plugin: &PluginName, reason: &str, effects: &mut Vec<Effect>) -> Result<SettleScope, Refusal> {
        let refused = || Refusal::NotSkippable(plugin.clone());
        let index = self.plugin_index(plugin)?;
        // Only untouched results can be removed. All others must stay visible.
        let untouched = |entry: &Entry| matches!(entry.outcome, Outcome::Waiting) && entry.upload.is_none();
        if self.interrupted || !self.entries_of(index).iter().all(untouched) {
            return Err(refused());
        }
        let skipped = self.plugins.get_mut(index).filter(|plugin| plugin.launched.is_none() && !plugin.complete);
        let skipped = skipped.ok_or_else(refused)?;
        skipped.complete = true;
        skipped.skipped = Some(first_chars(reason, MAX_SKIP_REASON).to_owned());
        let gone = std::mem::replace(&mut skipped.range, 0..0);
        let count = gone.len();
        let names: usize =
            self.entries.drain(gone.clone()).filter_map(|entry| entry.progress).map(|update| update.name_bytes()).sum();
        self.progress_bytes = self.progress_bytes.saturating_sub(names);
        for other in self.plugins.iter_mut().filter(|other| other.range.start >= gone.end) {
            other.range = other.range.start.saturating_sub(count)..other.range.end.saturating_sub(count);
        }
        self.by_key = self.entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
        effects.push(Effect::PluginSkipped { plugin: plugin.clone() });
        Ok(SettleScope::Nowhere)
    }

    fn progressed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        mut update: ProgressUpdate,
    ) -> Result<SettleScope, Refusal> {
        let others_and_own = self.progress_bytes;
        let entry = self.entry_mut(key)?;
        let own = entry.progress.as_deref().map_or(0, ProgressUpdate::name_bytes);
        let others = others_and_own.saturating_sub(own);
        update.stamp(key, at);
        let mut state = combine(entry.progress.as_deref(), update);
        state.trim_names(MAX_PROGRESS_BYTES.saturating_sub(others));
        let bytes = others.saturating_add(state.name_bytes());
        entry.progress = Some(Box::new(state));
        self.progress_bytes = bytes;
        Ok(SettleScope::Nowhere)
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

fn fail(entry: &mut Entry, at: Timestamp, error: ErrorRecord, effects: &mut Vec<Effect>) {
    effects.push(Effect::ResultFailed { key: entry.key.clone(), error: error.clone() });
    entry.fail(at, error);
}

/// Returns the error record for the last upload that may fail.
fn too_many_uploads(reason: &str) -> ErrorRecord {
    ErrorRecord::new(format!("{FAILED_UPLOADS} uploads failed, the maximum for a result; the last one: {reason}"))
}

/// Returns the error record for a failed upload that was not retried in time.
fn upload_error(reason: &str) -> ErrorRecord {
    ErrorRecord::new(format!("upload failed and was not retried: {reason}"))
}
