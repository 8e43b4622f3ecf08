//! Parses a list item by item, from a page of the server or from a file.

use std::fmt;
use std::io;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The parts of a list other than its items.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ListHead {
    /// The metadata: resource version and continue token.
    pub(super) metadata: Map<String, Value>,
}

impl ListHead {
    /// Returns the continue token, or `None` after the last page.
    pub(super) fn next(&self) -> Option<&str> {
        self.metadata.get("continue").and_then(Value::as_str).filter(|token| !token.is_empty())
    }
}

/// Error while parsing a list, or from the receiver of the items.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("it is not a list: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error(transparent)]
    Taken(io::Error),
}

/// Passes every item of the list `bytes` to `each`. Only one item is in memory at a time.
pub(super) fn read_bytes(bytes: &[u8], each: &mut dyn FnMut(Value) -> io::Result<()>) -> Result<ListHead, PageError> {
    let mut de = serde_json::Deserializer::from_slice(bytes);
    let head = read(&mut de, each)?;
    de.end()?;
    Ok(head)
}

/// Parses a file. A bare array is accepted too, because older archives contain such files.
pub(super) fn read_file(
    file: impl io::Read,
    each: &mut dyn FnMut(Value) -> io::Result<()>,
) -> Result<ListHead, PageError> {
    let mut de = serde_json::Deserializer::from_reader(io::BufReader::new(file));
    let head = read(&mut de, each)?;
    de.end()?;
    Ok(head)
}

fn read<'de, D: Deserializer<'de, Error = serde_json::Error>>(
    de: D,
    each: &mut dyn FnMut(Value) -> io::Result<()>,
) -> Result<ListHead, PageError> {
    let mut failed = None;
    let read = de.deserialize_any(List(Items { each, failed: &mut failed }));
    match failed {
        Some(error) => Err(PageError::Taken(error)),
        None => Ok(read?),
    }
}

struct List<'a>(Items<'a>);

/// Passes items on until one fails. The error is stored separately, because a visitor can only
/// return a syntax error.
struct Items<'a> {
    each: &'a mut dyn FnMut(Value) -> io::Result<()>,
    failed: &'a mut Option<io::Error>,
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ListHead;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<ListHead, A::Error> {
        let mut head = ListHead::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "items" => map.next_value_seed(&mut self.0)?,
                "metadata" => {
                    if let Value::Object(metadata) = map.next_value()? {
                        head.metadata = metadata;
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(head)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, seq: A) -> Result<ListHead, A::Error> {
        (&mut self.0).visit_seq(seq)?;
        Ok(ListHead::default())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, de: D) -> Result<(), D::Error> {
        de.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("items")
    }

    /// An empty list may be written as `null`.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(item) = seq.next_element::<Value>()? {
            if let Err(error) = (self.each)(item) {
                *self.failed = Some(error);
                return Err(serde::de::Error::custom("an item was not taken"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Result<ListHead, PageError>, Vec<Value>) {
        let mut items = Vec::new();
        let head = read_bytes(text.as_bytes(), &mut |item| {
            items.push(item);
            Ok(())
        });
        (head, items)
    }

    #[test]
    fn items_come_wherever_they_stand() {
        let (head, items) = read(r#"{"items":[1,{"a":2}],"kind":"L","metadata":{"continue":"t"}}"#);
        assert_eq!((head.unwrap().next(), items.len()), (Some("t"), 2));
        let (head, items) = read(r#"{"metadata":{"continue":""},"items":null}"#);
        assert_eq!((head.unwrap().next(), items.len()), (None, 0));
        let (head, items) = read("[1,2,3]");
        assert_eq!((head.unwrap(), items.len()), (ListHead::default(), 3));
    }

    #[test]
    fn other_answers_are_refused() {
        for text in ["", "null", "3", "{\"items\":[1", "{\"items\":7}", "{} {}"] {
            assert!(read(text).0.is_err(), "{text}");
        }
        let full = read_bytes(b"[1]", &mut |_| Err(io::Error::other("disk full"))).unwrap_err();
        assert_eq!(full.to_string(), "disk full");
    }
}
