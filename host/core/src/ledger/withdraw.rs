//! How a plugin is taken out of the run again.

use crate::ledger::effect::{Effect, Refusal};
use crate::ledger::entry::{Entry, Outcome};
use crate::ledger::state::Ledger;
use crate::name::PluginName;

/// Characters kept of the reason for a withdrawal: a sentence. It is part of every status.
pub const MAX_REASON: usize = 500;

impl Ledger {
    /// Takes the entries of a plugin out, as if they had never been planned. What lies behind them moves up: this happens a few times in
    /// a run, and every lookup would otherwise have to pass over the gap.
    pub(super) fn withdraw(
        &mut self,
        plugin: &PluginName,
        reason: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<super::apply::Look, Refusal> {
        let refused = || Refusal::NotWithdrawable(plugin.clone());
        let index = self.plugin_index(plugin)?;
        // Whatever a result has gone through stays to be seen.
        let untouched = |entry: &Entry| matches!(entry.outcome, Outcome::Waiting) && entry.upload.is_none();
        if self.interrupted || !self.entries_of(index).iter().all(untouched) {
            return Err(refused());
        }
        let withdrawn = self.plugins.get_mut(index).filter(|plugin| plugin.launched.is_none() && !plugin.complete);
        let withdrawn = withdrawn.ok_or_else(refused)?;
        withdrawn.complete = true;
        withdrawn.withdrawn = Some(reason.chars().take(MAX_REASON).collect());
        let gone = std::mem::replace(&mut withdrawn.range, 0..0);
        let count = gone.len();
        let names: usize =
            self.entries.drain(gone.clone()).filter_map(|entry| entry.progress).map(|told| told.name_bytes()).sum();
        self.progress_bytes = self.progress_bytes.saturating_sub(names);
        for other in self.plugins.iter_mut().filter(|other| other.range.start >= gone.end) {
            other.range = other.range.start.saturating_sub(count)..other.range.end.saturating_sub(count);
        }
        self.by_key = self.entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
        effects.push(Effect::PluginWithdrawn { plugin: plugin.clone() });
        effects.push(Effect::StatusChanged);
        Ok(super::apply::Look::Nowhere)
    }
}
