//! The roles that a module can implement.

use serde_json::Value;

use crate::{Context, Expected, InputFile, Node, Output, PluginInfo, Results, Rulings, Tree};

/// Reads the files of one result set (that of a node, or the cluster-wide one) and emits items.
///
/// The host creates a new instance for each result set, so two calls share nothing.
pub trait PostProcessor {
    /// Reads `files` and emits items to `out`.
    ///
    /// `files` are those that the definition's `result-files` select, or else those that match the
    /// module's `default_files`. They are in lexical order of their paths, and there may be none.
    ///
    /// # Errors
    ///
    /// A sentence that says why the module cannot continue at all, such as invalid options. The
    /// host keeps the items emitted so far and adds an item of status `unknown` with the sentence.
    ///
    /// An unreadable file is not such an error. Emit an item for it with
    /// [`Status::Unknown`](crate::Status::Unknown) and the cause under the metadata key `error`,
    /// and continue with the next file.
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String>;
}

/// Decides which results must arrive before a plugin is complete.
pub trait Expectations {
    /// Returns the results that `plugin` must deliver.
    ///
    /// `pod_spec` is the definition's `podSpec`. It is `None` if the definition has none; the
    /// driver's default then applies, which tolerates every taint. The host rejects a result that
    /// is listed twice, and a node that is not in `nodes`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the definition. The run does not start.
    fn expected_results(plugin: &PluginInfo, pod_spec: Option<&Value>, nodes: &[Node])
    -> Result<Vec<Expected>, String>;
}

/// Summarizes the results of a plugin as a whole, such as totals or differences between nodes.
pub trait Summarizer {
    /// Reads `results` and emits further items to `out`.
    ///
    /// The host calls this once, when the items of all result sets are complete. It does not call
    /// it if there are no items. The emitted items become children of the plugin's root, after
    /// those of the result sets. They count in the roll-up like any other item. They are never
    /// nodes, whatever their names and metadata.
    ///
    /// # Errors
    ///
    /// A sentence that says why the module cannot continue. The host keeps the items emitted so far
    /// and adds an item of status `unknown` with the sentence. The items of the result sets are not
    /// affected.
    fn summarize(plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String>;
}

/// Decides which items of the finished tree count as failures. Judges know about known failures,
/// flaky tests, allowed skips, and requirements on the results as a whole.
pub trait Judge {
    /// Reads the finished tree, and adds rulings and checks to `out`.
    ///
    /// The host calls this once for each entry of the definition's chain `verdict` that names the
    /// module. The tree is finished then, and so is the rest of the run. Judges run in the order of
    /// the chain, and each one sees the rulings of those before it.
    ///
    /// The options of `plugin` are those of the entry in the chain, and its format is the name that
    /// the entry uses for the module. `evidence` holds the files of the entry. First come those of
    /// its `data`, as `data/NAME`, then the files of the archive that match its patterns, with
    /// their paths in the archive. Both are in lexical order.
    ///
    /// # Errors
    ///
    /// A sentence that says why the module cannot continue. The rulings and checks so far are kept,
    /// and the plugin does not pass.
    fn judge(plugin: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String>;
}

/// Checks a node or a cluster itself. A plugin runs the component in place of an image.
pub trait Checker {
    /// Reads what `context` grants, and emits items to `out`.
    ///
    /// The host calls this once for each result of the plugin: on every node, or once for the
    /// cluster.
    ///
    /// # Errors
    ///
    /// A sentence that says why the check cannot continue. The host keeps the items emitted so far
    /// and adds an item of status `unknown` with the sentence.
    ///
    /// A single file or object that cannot be read is not such an error. Emit an item for it with
    /// [`Status::Unknown`](crate::Status::Unknown) and the cause under the metadata key `error`, and
    /// continue.
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String>;
}
