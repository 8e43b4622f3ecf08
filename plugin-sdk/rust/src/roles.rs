//! The roles that a module may play.

use serde_json::Value;

use crate::{Expected, InputFile, Node, Output, PluginInfo, Results};

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
