//! What is post-processed, and what comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plumbline_core::{ModuleLimits, Status};
use plumbline_sandbox::PluginInfo;

use super::detect::Detections;
use super::failure::Failure;
use super::usage::Usage;
use crate::lazy::LazyModule;

/// What is post-processed, and how.
pub struct Subject<'a> {
    /// What the module is told.
    pub plugin: PluginInfo,
    /// Results are per node: each directory below `results/` is a node's.
    pub per_node: bool,
    /// The modules that detect their files, for the result format `auto`: each file goes to the first module that detects it. Empty: one
    /// module reads all files.
    pub detectors: Vec<LazyModule>,
    /// The file in a result set that holds the standard output of the plugin's process.
    pub stdout: Option<&'a str>,
    /// The definition's `result-files`; empty: the module's default patterns.
    pub result_files: &'a [String],
    /// What one call of the module may use.
    pub limits: ModuleLimits,
    /// Says what the results come to as a whole, in items beside those of the result sets; `None`: nobody does.
    pub summarizer: Option<LazyModule>,
    /// A file for the items of the finished tree, for who judges it; `None`: nobody does.
    pub keep_items: Option<PathBuf>,
    /// A result set in which nothing ran passes.
    pub allow_empty: bool,
    /// Sentences that a reader of the tree must see, such as a schema of options that cannot be used. They are in the root's meta.
    pub warnings: Vec<String>,
}

/// How a node, or the whole plugin, came out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Rolled-up status.
    pub status: Status,
    /// Leaves by status.
    pub counts: BTreeMap<String, u64>,
}

/// What became of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The root.
    pub total: NodeOutcome,
    /// Per node, for a plugin that is per node. A node with results and an error has one entry: the worse of both.
    pub nodes: BTreeMap<String, NodeOutcome>,
    /// Items of the tree without its root.
    pub items: u64,
    /// The first tests that failed, at most [`MAX_FAILURES`](super::MAX_FAILURES).
    pub failures: Vec<Failure>,
    /// Why it came out so where the statuses do not say it: nothing ran, or nobody read the files.
    pub reason: Option<String>,
    /// What the modules used, and how they behaved.
    pub usage: Usage,
    /// What became of the files where the result format is `auto`; `None`: it is another one.
    pub detections: Option<Detections>,
}

impl Subject<'_> {
    /// Whether somebody reads the items again once they are all in.
    pub(super) fn reads_again(&self) -> bool {
        self.summarizer.is_some() || self.keep_items.is_some()
    }

    /// Whether each file is read by the module that detects it.
    pub(super) fn is_auto(&self) -> bool {
        !self.detectors.is_empty()
    }
}
