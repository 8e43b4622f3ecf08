//! How events change the ledger. Those about single results are in `results`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::{Effect, Event, MAX_EXPECTED, Refusal};
use crate::ledger::settle::upload_error;
use crate::ledger::state::{Entry, Held, Judged, Ledger, MAX_PROGRESS_BYTES, Outcome, Plugin};
use crate::limits::{ERRORS_BYTES, LEAST_ERROR_BYTES};
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
pub(super) enum SettleScope {
    /// Nothing that the status shows has changed.
    Silent,
    Nowhere,
    At(usize),
    Everywhere,
}

pub(super) type Recorded = Result<SettleScope, Refusal>;

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

    fn record(&mut self, at: Timestamp, event: Event, effects: &mut Vec<Effect>) -> Recorded {
        match event {
            Event::Planned { plugin, keys } => return self.planned(at, plugin, keys),
            Event::NothingExpected { plugin, reason } => {
                self.plugin_mut(&plugin)?.nothing_expected = Some(excerpt(&reason, MAX_REASON));
            }
            Event::Launched { plugin } => {
                self.plugin_mut(&plugin)?.launched.get_or_insert(at);
            }
            Event::LaunchFailed { plugin, reason } => return self.launch_failed(at, &plugin, &reason, effects),
            Event::Skipped { plugin, reason } => self.skip(&plugin, &reason, effects)?,
            Event::Hello { key } => self.entry_mut(&key)?.heard = Some(at),
            Event::Heartbeat { key } => {
                self.entry_mut(&key)?.heard = Some(at);
                return Ok(SettleScope::Silent);
            }
            Event::Problem { key, reason } => {
                self.entry_mut(&key)?.trouble = reason.map(|reason| excerpt(&reason, MAX_REASON));
            }
            Event::Progress { key, update } => self.progressed(at, &key, update)?,
            Event::UploadStarted { key, upload } => return self.upload_started(at, &key, upload),
            Event::UploadClaimed { key, upload } => return self.upload_claimed(at, &key, upload),
            Event::UploadStored { key, upload, stored } => return self.upload_stored(at, key, upload, stored, effects),
            Event::UploadFailed { key, upload, reason } => {
                return self.upload_failed(at, &key, upload, reason, true, effects);
            }
            Event::UploadDelayed { key, upload, reason } => {
                return self.upload_failed(at, &key, upload, reason, false, effects);
            }
            Event::RetryDelayed { key, reason } => return self.retry_delayed(at, &key, reason),
            Event::Failed { key, error } => return self.failed(at, &key, error, effects),
            Event::TimedOut { plugin } => return self.timed_out(at, &plugin, effects),
            Event::PostProcessed { key, status, counts } => self.post_processed(&key, Judged { status, counts })?,
            Event::PluginPostProcessed { plugin, status, counts } => {
                self.plugin_mut(&plugin)?.judged = Some(Judged { status, counts });
            }
            Event::PluginJudged { plugin, summary } => self.plugin_mut(&plugin)?.verdict = Some(summary),
            Event::Archived { tar } => self.tar = Some(tar),
            Event::Interrupted => return Ok(self.interrupted(at, effects)),
            Event::Restarted => return Ok(self.restarted(at, effects)),
        }
        Ok(SettleScope::Nowhere)
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
            Event::LaunchFailed { plugin, reason } => {
                // The error of each missing result has the reason.
                let left = ERRORS_BYTES.saturating_sub(self.error_bytes) / self.missing(&plugin).len().max(1);
                let reason = ErrorRecord::new(reason).bounded(left.max(LEAST_ERROR_BYTES)).error;
                Event::LaunchFailed { plugin, reason }
            }
            Event::UploadFailed { key, upload, reason } => {
                Event::UploadFailed { key, upload, reason: first_chars(&reason, MAX_UPLOAD_REASON).to_owned() }
            }
            Event::UploadDelayed { key, upload, reason } => {
                Event::UploadDelayed { key, upload, reason: first_chars(&reason, MAX_UPLOAD_REASON).to_owned() }
            }
            other => other,
        }
    }

    fn planned(&mut self, at: Timestamp, plugin: PluginName, keys: Vec<ResultKey>) -> Recorded {
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

    /// Records the outcome of a result. Adjacent results with the same outcome share it, because most
    /// nodes have the same one.
    fn post_processed(&mut self, key: &ResultKey, judged: Judged) -> Result<(), Refusal> {
        let index = self.index(key)?;
        let before = index.checked_sub(1).and_then(|before| self.entries.get(before)?.judged.clone());
        let same = before.filter(|before| **before == judged);
        self.entry_mut(key)?.judged = Some(same.unwrap_or_else(|| Arc::new(judged)));
        Ok(())
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
                entry.fail(at, error, effects);
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
                entry.fail(at, held.error.with("upload", "the aggregator was restarted"), effects);
            } else if let Outcome::Broken { at: since, .. } = &mut entry.outcome {
                // The retry that was in progress gets its full window again.
                *since = (*since).max(at);
            }
        }
        SettleScope::Everywhere
    }

    /// Removes the entries of a plugin as if they had never been planned. Later entries move up:
    /// this happens only a few times in a run, and otherwise every lookup would have to skip the
    /// gap.
    fn skip(&mut self, plugin: &PluginName, reason: &str, effects: &mut Vec<Effect>) -> Result<(), Refusal> {
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
        Ok(())
    }

    fn progressed(&mut self, at: Timestamp, key: &ResultKey, mut update: ProgressUpdate) -> Result<(), Refusal> {
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
        Ok(())
    }
}
