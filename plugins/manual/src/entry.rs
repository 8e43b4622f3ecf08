//! An item as it is written in a document.

use serde::Deserialize;

use crate::json::Json;
use crate::pairs::Pairs;

/// The content of an item. It uses boxed slices instead of growable collections, because there may
/// be a million items.
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
    /// Returns the number of levels of items, including this one. The parser's limit on nesting
    /// bounds the recursion.
    pub(crate) fn levels(&self) -> usize {
        let below = self.items.iter().flatten().flatten().map(Self::levels).max();
        1 + below.unwrap_or(0)
    }
}
