//! The verdict over all results that were shown.

use std::collections::BTreeMap;

use plumbline_archive::layout::{ERROR_FILE, ERRORS_DIR};
use plumbline_core::judgement::VerdictSummary;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Item, Verdict};

use super::results_tree::Tree;

/// The results that were shown, as a run would have them in its status: with the plugins of all inputs.
#[derive(Default)]
pub(super) struct Seen {
    entries: Vec<PluginStatus>,
    verdicts: BTreeMap<String, VerdictSummary>,
}

impl Seen {
    /// Adds a tree of the input `input`, with its leaves by status.
    pub(super) fn add(&mut self, input: &str, tree: &Tree<'_>, counts: BTreeMap<String, u64>) {
        // Archives of several runs have the same plugins.
        let plugin = format!("{input}/{}", tree.plugin);
        // A result that is missing is no failure that a judge could excuse: the run ended incomplete, and so does a look at it.
        let is_incomplete =
            tree.is_unreadable || (tree.verdict.is_some() && tree.item.leaves().any(stands_for_a_missing_result));
        self.entries.push(PluginStatus {
            plugin: plugin.clone(),
            node: GLOBAL.to_owned(),
            status: if is_incomplete { EntryStatus::Failed } else { EntryStatus::Complete },
            result_status: Some(tree.item.status.clone()),
            result_counts: Some(counts),
            ..PluginStatus::default()
        });
        if let Some(verdict) = &tree.verdict {
            self.verdicts.insert(plugin, verdict.summary());
        }
    }

    /// Adds an input of which nothing could be read.
    pub(super) fn missing(&mut self, input: &str) {
        self.entries.push(PluginStatus {
            plugin: input.to_owned(),
            node: GLOBAL.to_owned(),
            status: EntryStatus::Failed,
            ..PluginStatus::default()
        });
    }

    /// Whether a result is missing or could not be read.
    pub(super) fn is_incomplete(&self) -> bool {
        self.entries.iter().any(|entry| entry.status != EntryStatus::Complete)
    }

    /// The verdict over all of them.
    pub(super) fn verdict(self) -> Verdict {
        Verdict::from_run(&RunStatus {
            plugins: Some(self.entries),
            verdicts: Some(self.verdicts),
            status: RunPhase::Complete,
            ..RunStatus::default()
        })
    }
}

/// Whether the host wrote the item because no result came.
fn stands_for_a_missing_result(leaf: &Item) -> bool {
    let file = leaf.meta.get("file").map(String::as_str).unwrap_or_default();
    file.starts_with(&format!("{ERRORS_DIR}/")) && file.ends_with(&format!("/{ERROR_FILE}"))
}
