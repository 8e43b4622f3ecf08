//! Parsing of result trees.

use crate::item::Item;

/// The maximum nesting depth of the YAML. Each level of the tree takes two levels of YAML. Modules
/// may emit 64 levels, and the parser's recursion takes stack.
const MAX_DEPTH: usize = 300;

impl Item {
    /// Parses a result tree from YAML, of which JSON is a subset. The caller limits the length of
    /// `text`.
    ///
    /// # Errors
    ///
    /// Returns a message that says why `text` is not a result tree.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str_with_options(text, options(text.len())).map_err(|error| error.to_string())
    }
}

/// Allows as much as the text can need without aliases. Aliases multiply content, and no tool
/// writes them into a tree.
fn options(bytes: usize) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: bytes.saturating_mul(2).saturating_add(64),
            max_nodes: bytes.saturating_add(64),
            max_total_scalar_bytes: bytes.saturating_add(64),
            max_depth: MAX_DEPTH,
            max_aliases: 0,
            max_anchors: 0,
        },
        emit_comments: false,
        with_snippet: false,
    }
}
