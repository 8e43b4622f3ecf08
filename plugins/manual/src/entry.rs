//! An item as it stands in a document.

use serde::Deserialize;

use crate::json::Json;
use crate::pairs::Pairs;

/// What is known of an item. Boxed slices in place of growable ones, because there may be a million of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an item, which is a mapping (`name`, `status`, `meta`, `details`, `items`)")]
pub(crate) struct Entry {
    pub(crate) name: Option<Box<str>>,
    pub(crate) status: Option<Box<str>>,
    pub(crate) meta: Option<Pairs<Option<Box<str>>>>,
    pub(crate) details: Option<Pairs<Json>>,
    pub(crate) items: Option<Box<[Option<Entry>]>>,
}

impl Entry {
    /// Levels of items, itself included. The parser's bound on nesting bounds the recursion.
    pub(crate) fn levels(&self) -> usize {
        let below = self.items.iter().flatten().flatten().map(Self::levels).max();
        1 + below.unwrap_or(0)
    }
}
