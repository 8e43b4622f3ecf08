//! The roles that a module may play.

use serde_json::Value;

use crate::{Expected, InputFile, Node, Output, PluginInfo, Results, Rulings, Tree};

/// Turns the files of one result set (one node's, or the cluster-wide one) into items.
///
/// The host makes a fresh instance for each result set, so nothing is shared between two calls.
pub trait PostProcessor {
    /// Reads `files`, emits items to `out`. `files` are those that the definition's `result-files` names, or those that match the
    /// module's `default_files`, in lexical order of their paths; there may be none.
    ///
    /// # Errors
    ///
    /// A sentence that says why the module cannot go on at all, such as options that make no sense; the host adds it to what was
    /// emitted as an item of status `unknown`. A file that cannot be read is no such reason: emit an item for it with
    /// [`Status::Unknown`](crate::Status::Unknown) and the cause under the meta key `error`, and go on with the next.
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String>;
}

/// Says who must answer before a plugin is complete.
pub trait Expectations {
    /// The results expected of `plugin`. `pod_spec` is the definition's `podSpec`; `None` when it has none, and then the driver's
    /// default applies, which tolerates every taint. Naming one result twice, or a node that is not in `nodes`, is an error.
    ///
    /// # Errors
    ///
    /// A sentence that says what in the definition cannot be understood; the run does not start.
    fn expected_results(plugin: &PluginInfo, pod_spec: Option<&Value>, nodes: &[Node])
    -> Result<Vec<Expected>, String>;
}

/// Says what the results of a plugin come to as a whole: totals, differences between nodes.
pub trait Summarizer {
    /// Called once, when the items of all result sets are in, and not at all where there is none. Reads `results`, emits further items to
    /// `out`: children of the plugin's root, behind those of the result sets. They count in the roll-up like any other; they are no
    /// nodes, whatever their names and meta.
    ///
    /// # Errors
    ///
    /// A sentence that says why the module cannot go on; the host adds it to what was emitted as an item of status `unknown`. The
    /// items of the result sets stay in any case.
    fn summarize(plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String>;
}

/// Says what of the finished tree counts: known failures, flaky tests, allowed skips, and requirements on the whole.
pub trait Judge {
    /// Called once for each plugin whose definition names the module in its chain `verdict`, when the tree is finished and everything
    /// else of the run is in. Judges are called in the order of the chain; each sees what those before it said.
    ///
    /// The options of `plugin` are those of the entry of the chain; its format is the name that the entry calls the module by. `evidence`
    /// are the files that the entry names: first those of its `data`, as `data/NAME`, then those of the archive that match its
    /// patterns, under their paths there, each in lexical order.
    ///
    /// # Errors
    ///
    /// A sentence that says why the module cannot go on. What it said until then is kept, and the plugin does not pass.
    fn judge(plugin: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String>;
}
