//! How time changes the ledger: windows end, plugins and the run become complete.

use jiff::Timestamp;

use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::Effect;
use crate::ledger::state::{Ledger, Outcome};

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
        self.undecided(plugin).iter().all(|entry| {
            !entry.is_open(now) && (entry.is_overdue(now) || entry.retry_ends().is_none_or(|end| end <= now))
        })
    }

    pub(super) fn settle(&mut self, plugin: usize, now: Timestamp, effects: &mut Vec<Effect>) {
        if self.plugins.get(plugin).is_none_or(|plugin| plugin.complete) {
            return;
        }
        if self.plugins.get(plugin).is_some_and(|plugin| plugin.holds) {
            for entry in self.entries_of_mut(plugin).iter_mut().filter(|entry| entry.is_overdue(now)) {
                if let Some(held) = entry.held.take() {
                    entry.fail(held.until.unwrap_or(now), held.error, effects);
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
                entry.fail(at, error, effects);
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
    pub(super) fn look_for_held(&mut self, plugin: usize) {
        let holds = self.undecided(plugin).iter().any(|entry| entry.held.is_some());
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.holds = holds;
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

/// Returns the error record for a failed upload that was not retried in time.
pub(super) fn upload_error(reason: &str) -> ErrorRecord {
    ErrorRecord::new(format!("upload failed and was not retried: {reason}"))
}
