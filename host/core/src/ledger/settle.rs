//! What time does to the ledger: windows end, plugins complete.

use jiff::Timestamp;

use crate::ledger::apply::{fail, upload_error};
use crate::ledger::effect::Effect;
use crate::ledger::entry::Outcome;
use crate::ledger::state::Ledger;

impl Ledger {
    /// Ends the windows that are over at `now`, and says what follows. See [`Ledger::next_deadline`] for when to call it.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.settle_all(now, &mut effects);
        // Only a run that waits for something is ticked: the planning is over.
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

    /// Whether nothing more is to come of the plugin at `now`: no result is awaited, none is being uploaded, and no retry has time.
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
