//! Input and outcome of post-processing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plumbline_core::{ModuleLimits, Status};
use plumbline_sandbox::PluginInfo;

use super::detect::Detections;
use super::failure::Failure;
use super::usage::Usage;
use crate::lazy::LazyModule;

/// The results to post-process, and how.
pub struct Subject<'a> {
    /// Information for the module.
    pub plugin: PluginInfo,
    /// Whether results are per node, so that each directory below `results/` is a node's.
    pub per_node: bool,
    /// Modules that detect their files, for the result format `auto`. Each file goes to the first
    /// module that detects it. If empty, one module reads all files.
    pub detectors: Vec<LazyModule>,
    /// Name of the file in a result set with the standard output of the plugin's process.
    pub stdout: Option<&'a str>,
    /// The definition's `result-files`. If empty, the module's default patterns apply.
    pub result_files: &'a [String],
    /// Limits of one call of the module.
    pub limits: ModuleLimits,
    /// Module that adds items about the results of all result sets, if any.
    pub summarizer: Option<LazyModule>,
    /// File to write the items of the finished tree to, for judges, if any.
    pub keep_items: Option<PathBuf>,
    /// Whether a result set in which nothing ran passes.
    pub allow_empty: bool,
    /// Sentences for readers of the tree, such as problems with a schema of options. They become
    /// metadata of the root.
    pub warnings: Vec<String>,
}

/// Outcome of a node, or of the whole plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Rolled-up status.
    pub status: Status,
    /// Number of leaves by status.
    pub counts: BTreeMap<String, u64>,
}

/// Outcome of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Outcome of the root.
    pub total: NodeOutcome,
    /// Outcome per node, for a plugin that runs per node. If a node has results and an error, the
    /// worse status applies.
    pub nodes: BTreeMap<String, NodeOutcome>,
    /// Number of items in the tree, without its root.
    pub items: u64,
    /// The first failed tests, at most [`MAX_FAILURES`](super::MAX_FAILURES).
    pub failures: Vec<Failure>,
    /// Reason of the status if the items' statuses do not explain it: nothing ran, or no file was
    /// read.
    pub reason: Option<String>,
    /// Resources that the modules used, and their failures.
    pub usage: Usage,
    /// Detected formats, or `None` if the result format is not `auto`.
    pub detections: Option<Detections>,
}

impl Subject<'_> {
    /// Returns whether the items are read again when the tree is complete.
    pub(super) fn reads_again(&self) -> bool {
        self.summarizer.is_some() || self.keep_items.is_some()
    }

    /// Returns whether each file is read by the module that detects it.
    pub(super) fn is_auto(&self) -> bool {
        !self.detectors.is_empty()
    }
}
