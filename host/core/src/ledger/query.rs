//! Queries on the ledger.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::judgement::VerdictSummary;
use crate::ledger::error_record::ErrorRecord;
use crate::ledger::state::{Entry, Judged, KeyState, Ledger, Outcome, Plugin};
use crate::name::{PluginName, ResultKey};
use crate::progress::ProgressUpdate;
use crate::run_status::{EntryStatus, MAX_REASON, PluginStatus, PluginTotal, RunPhase, RunStatus};
use crate::text::excerpt;

/// How many expected results of a plugin are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultTally {
    /// Nothing was received yet.
    pub waiting: u64,
    /// The result is being uploaded.
    pub uploading: u64,
    /// An upload failed, and another one may follow.
    pub retrying: u64,
    /// The result was received and stored.
    pub received: u64,
    /// The result will not arrive.
    pub failed: u64,
    /// A known problem currently prevents the result. These results are also in one of the other
    /// states.
    pub delayed: u64,
}

impl Ledger {
    /// Returns the planned plugins, in the order of the plan.
    pub fn plugins(&self) -> impl ExactSizeIterator<Item = &PluginName> {
        self.plugins.iter().map(|plugin| &plugin.name)
    }

    /// Returns the expected results, in the order of the plan.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &ResultKey> {
        self.entries.iter().map(|entry| &entry.key)
    }

    /// Returns the expected results of a plugin, in the order of the plan. There are none if the
    /// plugin is not planned.
    pub fn keys_of(&self, plugin: &PluginName) -> impl Iterator<Item = &ResultKey> {
        self.planned_entries(plugin).iter().map(|entry| &entry.key)
    }

    /// Returns the state of an expected result, or `None` if it is not expected.
    pub fn state(&self, key: &ResultKey) -> Option<KeyState> {
        self.entry(key).ok().map(Entry::state)
    }

    /// Returns the error that replaces a result, if there is one.
    pub fn error(&self, key: &ResultKey) -> Option<&ErrorRecord> {
        match &self.entry(key).ok()?.outcome {
            Outcome::Failed { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Returns what currently prevents an expected result from arriving, if something is known.
    pub fn problem(&self, key: &ResultKey) -> Option<&str> {
        self.entry(key).ok().filter(|entry| !entry.is_final())?.trouble.as_deref()
    }

    /// Returns whether the plugin of a result timed out while a retry of its upload was awaited.
    pub fn has_timed_out(&self, key: &ResultKey) -> bool {
        self.entry(key).is_ok_and(|entry| entry.timed_out.is_some())
    }

    /// Returns the progress reported for an expected result.
    pub fn progress(&self, key: &ResultKey) -> Option<&ProgressUpdate> {
        self.entry(key).ok()?.progress.as_deref()
    }

    /// Returns when the worker of an expected result last sent a message.
    pub fn last_heard(&self, key: &ResultKey) -> Option<Timestamp> {
        self.entry(key).ok()?.heard
    }

    /// Returns when a plugin was first launched, or `None` if it was not. Launching its missing
    /// parts again does not extend its time.
    pub fn launched(&self, plugin: &PluginName) -> Option<Timestamp> {
        self.plugin(plugin)?.launched
    }

    /// Returns when the latest event happened, or `None` if there was no event.
    pub fn last_event(&self) -> Option<Timestamp> {
        self.last
    }

    /// Returns why a plugin was skipped. `None` means that it was not skipped or is not planned.
    pub fn skipped(&self, plugin: &PluginName) -> Option<&str> {
        self.plugin(plugin)?.skipped.as_deref()
    }

    /// Returns why no result of a plugin is expected. `None` if results are expected, or if the
    /// plugin is not planned.
    pub fn nothing_expected(&self, plugin: &PluginName) -> Option<&str> {
        self.plugin(plugin)?.nothing_expected.as_deref()
    }

    /// Returns the result of a plugin, or `None` before it is post-processed.
    pub fn plugin_result(&self, plugin: &PluginName) -> Option<&Judged> {
        self.plugin(plugin)?.judged.as_ref()
    }

    /// Returns the verdict on a plugin, or `None` if the judges have not finished or there are
    /// none.
    pub fn plugin_verdict(&self, plugin: &PluginName) -> Option<&VerdictSummary> {
        self.plugin(plugin)?.verdict.as_ref()
    }

    /// Returns the outcome of one result, or `None` before it is post-processed.
    pub fn result(&self, key: &ResultKey) -> Option<&Judged> {
        self.entry(key).ok()?.judged.as_deref()
    }

    /// Returns whether `upload` of `key` is being moved into place.
    pub fn is_claimed(&self, key: &ResultKey, upload: u64) -> bool {
        self.entry(key).is_ok_and(|entry| entry.upload.is_some_and(|now| now.claimed && now.id == upload))
    }

    /// Returns the uploads in progress.
    pub fn uploads(&self) -> impl Iterator<Item = (&ResultKey, u64)> {
        self.entries.iter().filter_map(|entry| entry.upload.map(|upload| (&entry.key, upload.id)))
    }

    /// Returns the results of a plugin that are neither received nor failed, as of the last event
    /// or tick. A result whose upload failed is included while it may be retried.
    pub fn missing(&self, plugin: &PluginName) -> Vec<&ResultKey> {
        self.planned_entries(plugin).iter().filter(|entry| !entry.is_final()).map(|entry| &entry.key).collect()
    }

    /// Returns whether an expected result is neither received nor failed, as of the last event or tick.
    pub fn is_missing(&self, key: &ResultKey) -> bool {
        self.entry(key).is_ok_and(|entry| !entry.is_final())
    }

    /// Returns whether an expected result was received.
    pub fn is_received(&self, key: &ResultKey) -> bool {
        self.entry(key).is_ok_and(|entry| matches!(entry.outcome, Outcome::Received { .. }))
    }

    /// Returns how many expected results of a plugin are in each state, as of the last event or tick.
    pub fn tally(&self, plugin: &PluginName) -> ResultTally {
        let mut tally = ResultTally::default();
        for entry in self.planned_entries(plugin) {
            let state = match (&entry.outcome, entry.upload) {
                (Outcome::Received { .. }, _) => &mut tally.received,
                (Outcome::Failed { .. }, _) => &mut tally.failed,
                (_, Some(_)) => &mut tally.uploading,
                (Outcome::Broken { .. }, None) => &mut tally.retrying,
                (Outcome::Waiting, None) => &mut tally.waiting,
            };
            *state += 1;
            tally.delayed += u64::from(!entry.is_final() && entry.trouble.is_some());
        }
        tally
    }

    /// Returns the phase of the run at `now`.
    pub fn phase(&self, now: Timestamp) -> RunPhase {
        if self.tar.is_some() {
            RunPhase::Complete
        } else if !self.plugins.is_empty() && self.is_complete(now) {
            RunPhase::PostProcessing
        } else {
            RunPhase::Running
        }
    }

    /// Returns whether every expected result of a plugin was received or has failed, and no retry
    /// window is open at `now`. Returns `false` if the plugin is not planned.
    pub fn is_plugin_complete(&self, plugin: &PluginName, now: Timestamp) -> bool {
        self.plugin_index(plugin).is_ok_and(|index| self.is_complete_at(index, now))
    }

    /// Returns whether every planned plugin is complete at `now`. A ledger without plugins is
    /// complete, although it never yields [`super::Effect::RunComplete`].
    pub fn is_complete(&self, now: Timestamp) -> bool {
        (0..self.plugins.len()).all(|index| self.is_complete_at(index, now))
    }

    /// Returns whether the run was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Returns when the next window ends, but never a time before `now`. This is the time for the
    /// next [`Ledger::tick`]. `None` means that no time-based change is pending.
    pub fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let waiting =
            (0..self.plugins.len()).filter(|&index| self.plugins.get(index).is_some_and(|plugin| !plugin.complete));
        waiting.filter_map(|index| self.plugin_deadline(index)).min().map(|at| at.max(now))
    }

    /// A timeout behind an upload ends at its own time. Retry windows end together, once nothing
    /// else is expected.
    fn plugin_deadline(&self, index: usize) -> Option<Timestamp> {
        let entries = self.undecided(index);
        let holds = self.plugins.get(index).is_some_and(|plugin| plugin.holds);
        let held = if holds { entries.iter().filter_map(Entry::held_until).min() } else { None };
        let open = entries.iter().any(|entry| entry.upload.is_some() || matches!(entry.outcome, Outcome::Waiting));
        let retries = if open { None } else { entries.iter().filter_map(Entry::retry_ends).max() };
        [held, retries].into_iter().flatten().min()
    }

    /// Returns the status at `now` in its public form.
    pub fn status(&self, now: Timestamp) -> RunStatus {
        let mut entries = Vec::with_capacity(self.entries.len());
        for (index, plugin) in self.plugins.iter().enumerate() {
            let complete = self.is_complete_at(index, now);
            let alone = plugin.range.len() == 1;
            entries.extend(self.entries_of(index).iter().map(|entry| {
                let judged = entry.judged.as_deref().or(plugin.judged.as_ref().filter(|_| alone));
                entry_status(entry, complete || entry.is_overdue(now), judged)
            }));
        }
        let verdicts =
            self.plugins.iter().filter_map(|plugin| Some((plugin.name.to_string(), plugin.verdict.clone()?)));
        let verdicts: BTreeMap<_, _> = verdicts.collect();
        RunStatus {
            verdicts: (!verdicts.is_empty()).then_some(verdicts),
            plugins: if self.plugins.is_empty() { None } else { Some(entries) },
            status: self.phase(now),
            tar_info: self.tar.clone().unwrap_or_default(),
            interrupted: self.interrupted,
            skipped: self.by_plugin(|plugin| plugin.skipped.clone()),
            launched: self.by_plugin(|plugin| plugin.launched),
            totals: self.by_plugin(|plugin| self.total(plugin)),
            ..RunStatus::default()
        }
    }

    /// Returns the result of the plugin's whole tree, unless its only entry shows it.
    fn total(&self, plugin: &Plugin) -> Option<PluginTotal> {
        let judged = plugin.judged.as_ref()?;
        let entries = self.entries.get(plugin.range.clone()).unwrap_or_default();
        let is_shown = matches!(entries, [only] if only.judged.as_deref().is_none_or(|own| own == judged));
        (!is_shown).then(|| PluginTotal {
            status: judged.status.clone(),
            counts: Some(judged.counts.clone()),
            reason: plugin.nothing_expected.clone(),
        })
    }

    /// Returns what `look` finds for each plugin, by name.
    fn by_plugin<T>(&self, look: impl Fn(&Plugin) -> Option<T>) -> BTreeMap<String, T> {
        self.plugins.iter().filter_map(|plugin| Some((plugin.name.to_string(), look(plugin)?))).collect()
    }

    fn plugin(&self, plugin: &PluginName) -> Option<&Plugin> {
        self.plugins.get(*self.by_name.get(plugin)?)
    }

    fn planned_entries(&self, plugin: &PluginName) -> &[Entry] {
        self.by_name.get(plugin).map_or(&[], |&index| self.entries_of(index))
    }

    fn is_complete_at(&self, index: usize, now: Timestamp) -> bool {
        self.plugins.get(index).is_some_and(|plugin| plugin.complete) || self.is_due(index, now)
    }
}

fn missing(error: &ErrorRecord) -> EntryStatus {
    if error.is_timeout() { EntryStatus::TimedOut } else { EntryStatus::Failed }
}

fn entry_status(entry: &Entry, settled: bool, judged: Option<&Judged>) -> PluginStatus {
    let held = entry.held.as_ref().map(|held| &held.error);
    let status = match (&entry.outcome, held) {
        (Outcome::Received { .. }, _) => EntryStatus::Complete,
        (Outcome::Failed { error, .. }, _) => missing(error),
        (Outcome::Waiting | Outcome::Broken { .. }, Some(error)) if settled => missing(error),
        (Outcome::Waiting | Outcome::Broken { .. }, None) if settled => EntryStatus::Failed,
        (Outcome::Waiting | Outcome::Broken { .. }, _) => EntryStatus::Running,
    };
    PluginStatus {
        plugin: entry.key.plugin.to_string(),
        node: entry.key.node.to_string(),
        status,
        result_status: judged.map(|judged| judged.status.clone()),
        result_counts: judged.map(|judged| judged.counts.clone()),
        progress: match (entry.progress.as_deref(), judged) {
            (Some(progress), Some(judged)) => Some(Box::new(progress.clone().settled(&judged.counts))),
            _ => entry.progress.clone(),
        },
        last_heartbeat: entry.heard,
        reason: match &entry.outcome {
            Outcome::Failed { error, .. } => Some(excerpt(&error.error, MAX_REASON)),
            Outcome::Received { .. } => None,
            // The result is being uploaded, so earlier problems no longer matter.
            Outcome::Waiting | Outcome::Broken { .. } if entry.upload.is_some() => None,
            Outcome::Broken { reason, .. } => entry.trouble.clone().or_else(|| Some(excerpt(reason, MAX_REASON))),
            Outcome::Waiting => entry.trouble.clone(),
        },
        folded: None,
    }
}
