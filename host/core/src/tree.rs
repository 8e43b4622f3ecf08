//! A result tree as text.

use crate::item::Item;

/// Levels of a tree, each of which is two of YAML. Modules may go 64 deep, and recursion in the parser costs stack.
const MAX_DEPTH: usize = 300;

impl Item {
    /// The tree that `text` is: YAML, of which JSON is a part. How long it may be, who has read it decides.
    ///
    /// # Errors
    /// A sentence: why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str_with_options(text, options(text.len())).map_err(|error| error.to_string())
    }
}

/// As much as the text can need without aliases: those multiply, and no tool writes them into a tree.
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
