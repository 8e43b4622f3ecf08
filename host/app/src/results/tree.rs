//! Result trees to show, and the verdict over all that were shown.

use std::collections::BTreeMap;
use std::io;

use plumbline_archive::layout::{ERROR_FILE, ERRORS_DIR};
use plumbline_core::judgement::{PluginVerdict, VerdictSummary};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Item, Verdict};

use crate::error::AppError;

/// The name of the health of the cluster among plugins, as in Sonobuoy.
pub const HEALTH: &str = "sonobuoy";

/// A result tree to show.
pub struct ResultTree<'a> {
    /// The input that it comes from, if there are several.
    pub input: Option<&'a str>,
    /// The plugin.
    pub plugin: &'a str,
    /// The tree, or the selected part of it.
    pub item: Item,
    /// The verdict over the plugin.
    pub verdict: Option<PluginVerdict>,
    /// Whether the results cannot be read. The tree then has the reason.
    pub is_unreadable: bool,
}

pub(crate) fn printed(result: io::Result<()>) -> Result<(), AppError> {
    result.map_err(|error| AppError::printing("failed to print the results", &error))
}

/// The results that were shown, of the plugins of all inputs, from which the verdict is made.
#[derive(Default)]
pub struct ShownResults {
    entries: Vec<PluginStatus>,
    verdicts: BTreeMap<String, VerdictSummary>,
}

impl ShownResults {
    /// Adds a tree of `input`, with the counts of its leaves by status.
    pub fn add(&mut self, input: &str, tree: &ResultTree<'_>, counts: BTreeMap<String, u64>) {
        // Archives of several runs have the same plugins.
        let plugin = format!("{input}/{}", tree.plugin);
        // Judges cannot excuse a missing result. The run was incomplete, and so is the verdict.
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

    /// Adds an input that could not be read.
    pub fn missing(&mut self, input: &str) {
        self.entries.push(PluginStatus {
            plugin: input.to_owned(),
            node: GLOBAL.to_owned(),
            status: EntryStatus::Failed,
            ..PluginStatus::default()
        });
    }

    /// Whether a result is missing or could not be read.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.entries.iter().any(|entry| entry.status != EntryStatus::Complete)
    }

    /// The verdict over all results.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        Verdict::from_run(&RunStatus {
            plugins: Some(self.entries),
            verdicts: Some(self.verdicts),
            status: RunPhase::Complete,
            ..RunStatus::default()
        })
    }
}

/// Whether the item is an error in place of a result.
fn stands_for_a_missing_result(leaf: &Item) -> bool {
    let file = leaf.meta.get("file").map(String::as_str).unwrap_or_default();
    file.starts_with(&format!("{ERRORS_DIR}/")) && file.ends_with(&format!("/{ERROR_FILE}"))
}
