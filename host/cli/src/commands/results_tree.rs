//! A tree of results, as it is shown.

use std::io;

use plumbline_core::Item;
use plumbline_core::judgement::PluginVerdict;

use crate::error::CliError;

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

pub(super) fn printed(result: io::Result<()>) -> Result<(), CliError> {
    result.map_err(|error| CliError::printing("the results cannot be printed", &error))
}
