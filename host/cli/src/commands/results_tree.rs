//! A tree of results, as it is shown.

use std::collections::BTreeMap;
use std::io;

use plumbline_app::AppError;
use plumbline_archive::layout::{ERROR_FILE, ERRORS_DIR};
use plumbline_core::judgement::{PluginVerdict, VerdictSummary};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Item, Verdict};

/// The name under which the cluster's health is asked for, as scripts know it.
pub(super) const HEALTH: &str = "sonobuoy";

/// A result tree to be shown.
pub(super) struct Tree<'a> {
    /// The input that it comes from, where there are several.
    pub(super) input: Option<&'a str>,
    /// The plugin.
    pub(super) plugin: &'a str,
    /// The tree, or the part of it that `--node` names.
    pub(super) item: Item,
    /// The verdict over the plugin.
    pub(super) verdict: Option<PluginVerdict>,
    /// Nothing of the plugin can be read, and the tree says why.
    pub(super) is_unreadable: bool,
}

pub(super) fn printed(result: io::Result<()>) -> Result<(), AppError> {
    result.map_err(|error| AppError::printing("failed to print the results", &error))
}

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
