//! How time changes the ledger: windows end, and plugins complete.

use jiff::Timestamp;

use super::effect::{Effect, Refusal};
use super::entry::{Entry, Outcome};
use super::state::{Ledger, MAX_PROGRESS_BYTES};
use crate::ledger::apply::{fail, upload_error};
use crate::name::{PluginName, ResultKey};
use crate::progress::{ProgressUpdate, combine};

impl Ledger {
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

    pub(super) fn settle_all(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        for index in 0..self.plugins.len() {
            self.settle(index, now, effects);
        }
    }

    /// Returns whether nothing more can happen to the plugin at `now`: no result is expected, no
    /// upload is in progress, and no retry window is open.
    pub(super) fn is_due(&self, plugin: usize, now: Timestamp) -> bool {
        self.entries_of(plugin).iter().all(|entry| {
            !entry.is_open(now) && (entry.is_overdue(now) || entry.retry_ends().is_none_or(|end| end <= now))
        })
    }

    pub(super) fn settle(&mut self, plugin: usize, now: Timestamp, effects: &mut Vec<Effect>) {
        if self.plugins.get(plugin).is_none_or(|plugin| plugin.complete) {
            return;
        }
        for entry in self.entries_of_mut(plugin).iter_mut().filter(|entry| entry.is_overdue(now)) {
            if let Some(held) = entry.held.take() {
                fail(entry, held.until.unwrap_or(now), held.error, effects);
            }
        }
        if !self.is_due(plugin, now) {
            return;
        }
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

    pub(super) fn settle_run(&mut self, effects: &mut Vec<Effect>) {
        let all = !self.plugins.is_empty() && self.plugins.iter().all(|plugin| plugin.complete);
        if all && self.begun && !self.run_complete {
            self.run_complete = true;
            effects.push(Effect::RunComplete);
        }
    }
}

/// The maximum length in characters of the reason for skipping a plugin. It is part of every
/// status.
pub const MAX_REASON: usize = 500;

impl Ledger {
    /// Removes the entries of a plugin as if they had never been planned. Later entries move up:
    /// this happens only a few times in a run, and otherwise every lookup would have to skip the
    /// gap.
    pub(super) fn skip(
        &mut self,
        plugin: &PluginName,
        reason: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<super::apply::SettleScope, Refusal> {
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
        skipped.skipped = Some(reason.chars().take(MAX_REASON).collect());
        let gone = std::mem::replace(&mut skipped.range, 0..0);
        let count = gone.len();
        let names: usize =
            self.entries.drain(gone.clone()).filter_map(|entry| entry.progress).map(|told| told.name_bytes()).sum();
        self.progress_bytes = self.progress_bytes.saturating_sub(names);
        for other in self.plugins.iter_mut().filter(|other| other.range.start >= gone.end) {
            other.range = other.range.start.saturating_sub(count)..other.range.end.saturating_sub(count);
        }
        self.by_key = self.entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
        effects.push(Effect::PluginSkipped { plugin: plugin.clone() });
        effects.push(Effect::StatusChanged);
        Ok(super::apply::SettleScope::Nowhere)
    }
}

impl Ledger {
    pub(super) fn progressed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        mut update: ProgressUpdate,
        effects: &mut Vec<Effect>,
    ) -> Result<super::apply::SettleScope, Refusal> {
        let others_and_own = self.progress_bytes;
        let entry = self.entry_mut(key)?;
        let own = entry.progress.as_ref().map_or(0, ProgressUpdate::name_bytes);
        let others = others_and_own.saturating_sub(own);
        update.stamp(key, at);
        let mut state = combine(entry.progress.as_ref(), update);
        state.trim_names(MAX_PROGRESS_BYTES.saturating_sub(others));
        let bytes = others.saturating_add(state.name_bytes());
        entry.progress = Some(state);
        self.progress_bytes = bytes;
        effects.push(Effect::StatusChanged);
        Ok(super::apply::SettleScope::Nowhere)
    }
}
