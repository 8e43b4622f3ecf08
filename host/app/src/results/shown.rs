//! The verdict over the results that were shown.

use std::collections::BTreeMap;

use plumbline_core::judgement::{PluginVerdict, VerdictSummary};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Verdict};

use crate::trees::{TreeFacts, contradiction};

/// The results that were shown, of the plugins of all inputs, from which the verdict is made.
#[derive(Default)]
pub struct ShownResults {
    entries: Vec<PluginStatus>,
    verdicts: BTreeMap<String, VerdictSummary>,
}

impl ShownResults {
    /// Adds the tree of a plugin of `input`, with the counts of its leaves by status.
    pub(crate) fn add(
        &mut self,
        input: &str,
        plugin: &str,
        facts: &TreeFacts,
        verdict: Option<&PluginVerdict>,
        counts: BTreeMap<String, u64>,
    ) {
        // Archives of several runs have the same plugins.
        let plugin = format!("{input}/{plugin}");
        // As in the run, a missing result is not a failure, and judges cannot excuse it. Nor can they
        // excuse a failure that they did not see.
        let is_incomplete = facts.has_missing || verdict.is_some_and(|verdict| contradiction(verdict, facts).is_some());
        self.entries.push(PluginStatus {
            plugin: plugin.clone(),
            node: GLOBAL.to_owned(),
            status: if is_incomplete { EntryStatus::Failed } else { EntryStatus::Complete },
            result_status: Some(facts.root.status.clone()),
            result_counts: Some(counts),
            ..PluginStatus::default()
        });
        if let Some(verdict) = verdict {
            self.verdicts.insert(plugin, verdict.summary());
        }
    }

    /// Adds an input or a plugin that could not be read.
    pub fn missing(&mut self, input: &str) {
        self.entries.push(PluginStatus {
            plugin: input.to_owned(),
            node: GLOBAL.to_owned(),
            status: EntryStatus::Failed,
            ..PluginStatus::default()
        });
    }

    /// Whether a result is missing or could not be read.
    pub fn is_incomplete(&self) -> bool {
        self.entries.iter().any(|entry| entry.status != EntryStatus::Complete)
    }

    /// The verdict over all results.
    pub fn verdict(&self) -> Verdict {
        Verdict::from_run(&RunStatus {
            plugins: Some(self.entries.clone()),
            verdicts: Some(self.verdicts.clone()),
            status: RunPhase::Complete,
            ..RunStatus::default()
        })
    }
}
