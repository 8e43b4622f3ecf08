//! An item as it is written in a document.

use std::fmt;

use plumbline_sdk::Status;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::json::Json;
use crate::pairs::Pairs;

/// The keys of an item.
const KEYS: &[&str] = &["name", "status", "meta", "details", "items"];

/// The content of an item. It uses boxed slices instead of growable collections, because there may
/// be a million items.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) name: Option<Box<str>>,
    pub(crate) status: Option<Box<str>>,
    pub(crate) meta: Option<Pairs<Option<Box<str>>>>,
    pub(crate) details: Option<Pairs<Json>>,
    pub(crate) items: Option<Box<[Option<Entry>]>>,
    /// An unknown key that hides items or a status.
    pub(crate) misspelled: Option<Box<Misspelled>>,
}

/// An unknown key that was probably meant as another one.
#[derive(Debug)]
pub(crate) struct Misspelled {
    pub(crate) key: Box<str>,
    pub(crate) meant: &'static str,
}

impl Entry {
    /// Returns the number of levels of items, including this one. The parser's limit on nesting
    /// bounds the recursion.
    pub(crate) fn levels(&self) -> usize {
        let below = self.items.iter().flatten().flatten().map(Self::levels).max();
        1 + below.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Entry", KEYS, Mapping)
    }
}

/// A key of an item.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Name,
    Status,
    Meta,
    Details,
    Items,
    Other(String),
}

struct Mapping;

impl<'de> Visitor<'de> for Mapping {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item, which is a mapping (`name`, `status`, `meta`, `details`, `items`)")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Entry, M::Error> {
        let mut entry = Entry::default();
        let (mut like_items, mut like_status) = (None, Vec::new());
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Name => entry.name = map.next_value()?,
                Key::Status => entry.status = map.next_value()?,
                Key::Meta => entry.meta = map.next_value()?,
                Key::Details => entry.details = map.next_value()?,
                Key::Items => entry.items = map.next_value()?,
                Key::Other(key) if is_like(&key, "items") => {
                    // Only a list can be items.
                    if let Json::Document { json, .. } = map.next_value::<Json>()?
                        && json.starts_with('[')
                    {
                        like_items = Some(key);
                    }
                }
                Key::Other(key) if is_like(&key, "status") => {
                    if let Json::Text(text) = map.next_value::<Json>()? {
                        like_status.push((key, text));
                    }
                }
                Key::Other(_) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let misspelled = |key: String, meant| Box::new(Misspelled { key: key.into_boxed_str(), meant });
        // With items, an item needs no status.
        if entry.items.is_none() {
            let status = entry.status.as_deref().map(|status| Status::from(status).meaning());
            let mut like_status = like_status.into_iter();
            let other = like_status.find(|(_, text)| Some(Status::from(&**text).meaning()) != status);
            let other = other.map(|(key, _)| misspelled(key, "status"));
            entry.misspelled = like_items.map(|key| misspelled(key, "items")).or(other);
        }
        Ok(entry)
    }
}

/// Returns whether `key` differs from `word` only by case, or by one letter that is missing, added,
/// replaced or swapped with the next one.
fn is_like(key: &str, word: &str) -> bool {
    if key.len().abs_diff(word.len()) > 1 {
        return false;
    }
    let key = key.to_ascii_lowercase();
    let same = key.bytes().zip(word.bytes()).take_while(|(one, other)| one == other).count();
    let (key, word) = (key.as_bytes().get(same..), word.as_bytes().get(same..));
    match (key.unwrap_or_default(), word.unwrap_or_default()) {
        ([], []) => true,
        ([_, key @ ..], word) if key == word => true,
        (key, [_, word @ ..]) if key == word => true,
        ([_, key @ ..], [_, word @ ..]) if key == word => true,
        ([a, b, key @ ..], [c, d, word @ ..]) => (a, b) == (d, c) && key == word,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_almost_a_word_are_like_it() {
        for key in ["itmes", "item", "itemss", "Items", "ITEMS", "itens", "tems", "items_"] {
            assert!(is_like(key, "items"), "{key}");
        }
        for key in ["", "it", "times2", "tests", "Itms2", "smeti", "items-of"] {
            assert!(!is_like(key, "items"), "{key}");
        }
        for key in ["stauts", "statuss", "Status", "staus", "statis"] {
            assert!(is_like(key, "status"), "{key}");
        }
    }
}
