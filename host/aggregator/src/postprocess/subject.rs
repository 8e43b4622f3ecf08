//! What is post-processed: the plugin, its modules and their limits.

use std::path::PathBuf;

use plumbline_core::ModuleLimits;
use plumbline_sandbox::PluginInfo;

use crate::modules::LazyModule;

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
    /// Why no result was expected: the reason why the tree has no items.
    pub nothing_expected: Option<&'a str>,
}

impl Subject<'_> {
    /// Returns whether each file is read by the module that detects it.
    pub(super) fn is_auto(&self) -> bool {
        !self.detectors.is_empty()
    }
}
