//! The tree of a plugin, as a summarizer reads it.

use crate::Item;
use crate::batches::Batches;
pub use crate::batches::READ_ENTRIES;

/// An item of the plugin's tree, and the result set that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The result set: the name of the node, or `global` for a plugin that runs once.
    pub set: String,
    /// The item as emitted; `depth` 0 is a root of the result set. The host always sets the status.
    /// It rolls it up from the children, or uses `unknown` if there are none and the module set no
    /// status.
    pub item: Item,
}

/// The items of all result sets of a plugin.
///
/// Result sets come in lexical order of their names, each with its items in pre-order. The items
/// that the host adds for missing results follow, so a set may occur a second time. A set without
/// items does not occur.
pub type Results = Batches<Entry>;
