//! The tree of a plugin, as a summarizer reads it.

use crate::Item;
use crate::batches::Batches;
pub use crate::batches::READ_ENTRIES;

/// An item of the plugin's tree, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The result set: the node's name, or `global` for the one of a plugin that is not per node.
    pub set: String,
    /// As it was emitted; `depth` 0 is a root of the result set. The host gives every item a status: rolled up where there are
    /// children, `unknown` where nobody gave one.
    pub item: Item,
}

/// The items of all result sets of a plugin: set by set in the lexical order of their names, each with its items in pre-order. What the
/// host says of results that are missing comes after all of them, so a set may come a second time; one without any item does not come.
pub type Results = Batches<Entry>;
