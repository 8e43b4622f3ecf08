//! What the page says about each plugin.

use std::collections::HashSet;
use std::rc::Rc;

use plumbline_core::item::seconds;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::rollup::meaning;
use plumbline_core::{Item, Status};

use crate::report::nodes::NodeResults;

/// A plugin: its counts, its nodes and its verdict.
#[derive(Default)]
pub(super) struct PluginRow {
    /// The name, with that of the archive if there are several.
    pub(super) plugin: String,
    /// The name of its directory in the archive.
    pub(super) directory: String,
    pub(super) status: Status,
    /// Why the plugin has its status, if its items do not show it.
    pub(super) reason: Option<String>,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) other: u64,
    /// The sum of durations, if items have them.
    pub(super) seconds: Option<f64>,
    /// The leaves that count as failures, and the failures that do not count.
    pub(super) counting: u64,
    pub(super) excused: u64,
    pub(super) verdict: Option<PluginVerdict>,
    /// The number of the first row of its items.
    pub(super) first: u32,
    /// The number of its rows.
    pub(super) rows: u32,
    pub(super) nodes: NodeResults,
    /// The nodes with a failure, whether it counts or not.
    pub(super) failed_nodes: HashSet<Rc<str>>,
}

impl PluginRow {
    pub(super) fn new(
        plugin: String,
        directory: &str,
        root: &Item,
        first: u32,
        verdict: Option<&PluginVerdict>,
    ) -> Self {
        // The page lists failures by cause, so the items of the document are not kept.
        let verdict = verdict.map(|verdict| PluginVerdict {
            items: Vec::new(),
            checks: verdict.checks.clone(),
            chain: verdict.chain.clone(),
            classes: verdict.classes.clone(),
            plugin: verdict.plugin.clone(),
            ..*verdict
        });
        Self {
            plugin,
            directory: directory.to_owned(),
            status: root.status.clone(),
            reason: root.meta.get("error").or_else(|| root.meta.get("reason")).cloned(),
            verdict,
            first,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, leaf: &Item) {
        let count = match meaning(&leaf.status) {
            Status::Passed => &mut self.passed,
            Status::Failed | Status::Timeout => &mut self.failed,
            Status::Skipped => &mut self.skipped,
            Status::Unknown | Status::NotRead | Status::Custom(_) => &mut self.other,
        };
        *count = count.saturating_add(1);
        if let Some(seconds) = seconds(&leaf.meta) {
            self.seconds = Some(self.seconds.unwrap_or_default() + seconds);
        }
    }

    /// Counts a failure.
    pub(super) fn count(&mut self, counts: bool) {
        let count = if counts { &mut self.counting } else { &mut self.excused };
        *count = count.saturating_add(1);
    }

    /// The number of leaves.
    pub(super) fn items(&self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped).saturating_add(self.other)
    }
}
