//! Reads lists of the API server page by page, and parses them object by object.

use std::fmt;
use std::io;

use kube::core::params::ListParams;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::fetch::{Fetch, FetchError, Request, WITHIN};
use crate::error::ClusterError;
use crate::retry::PAGE;

/// Maximum size of a page in bytes. Eight pages may be in memory at once.
const MAX_PAGE: usize = 16 << 20;

/// Maximum size in bytes of a page that cannot be made smaller, because it has one object, or
/// because the server does not support pages.
const MAX_WHOLE: usize = 256 << 20;

/// How often a list is restarted because its continue token has expired (410).
const MAX_RESTARTS: u32 = 3;

/// Maximum number of pages of one list: five million objects. Beyond that, a server that always
/// announces another page is considered broken.
const MAX_PAGES: u32 = 10_000;

pub(super) trait Sink: Send + 'static {
    fn item(&mut self, item: Value) -> io::Result<()>;

    /// Drops all objects, because the list is restarted.
    fn restart(&mut self) -> io::Result<()>;
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// A label selector, or empty for all.
    pub(super) labels: String,
    /// A field selector, or empty for all.
    pub(super) fields: String,
    pub(super) metadata_only: bool,
}

/// Reads a list into `sink`, and returns it with the metadata of the last page. `what` completes
/// the message "failed to …".
pub(super) async fn list<S: Sink>(
    fetch: &Fetch,
    what: &str,
    path: &str,
    selection: &Selection,
    mut sink: S,
) -> Result<(S, Map<String, Value>), ClusterError> {
    // If a page is too large, smaller ones are requested.
    let (mut limit, mut restarts) = (PAGE, 0);
    let mut token: Option<String> = None;
    let failed = |why: &dyn fmt::Display| ClusterError::new(what, why.to_string());
    for _ in 0..MAX_PAGES {
        let max = if limit > 1 { MAX_PAGE } else { MAX_WHOLE };
        let request = request(path, selection, limit, token.clone()).map_err(|error| failed(&error))?;
        let bytes = match fetch.bytes(what, request, max, WITHIN).await {
            Ok(bytes) => bytes,
            Err(FetchError::TooLarge(_)) if limit > 1 => {
                limit = (limit / 10).max(1);
                continue;
            }
            Err(FetchError::Cluster(error))
                if error.code == Some(410) && token.is_some() && restarts < MAX_RESTARTS =>
            {
                restarts += 1;
                token = None;
                sink.restart().map_err(|error| failed(&format!("the file system says: {error}")))?;
                continue;
            }
            Err(error) => return Err(error.into_cluster(what)),
        };
        // Parsing and writing thousands of objects would block an async thread.
        let read = tokio::task::spawn_blocking(move || {
            let read = read_list(serde_json::Deserializer::from_slice(&bytes), &mut |item| sink.item(item));
            (sink, read)
        });
        let (back, read) = read.await.map_err(|error| failed(&error))?;
        sink = back;
        let metadata = read.map_err(|error| failed(&error))?;
        match metadata.get("continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
            None => return Ok((sink, metadata)),
            Some(next) if token.as_deref() == Some(next) => {
                return Err(failed(&"the server repeats the same page"));
            }
            Some(next) => token = Some(next.to_owned()),
        }
    }
    Err(failed(&format!("the list has more than {MAX_PAGES} pages")))
}

pub(super) fn request(
    path: &str,
    selection: &Selection,
    limit: u32,
    token: Option<String>,
) -> Result<Request, kube::core::request::Error> {
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    let params = ListParams {
        label_selector: some(&selection.labels),
        field_selector: some(&selection.fields),
        limit: Some(limit),
        continue_token: token,
        ..ListParams::default()
    };
    let request = kube::core::Request::new(path);
    if selection.metadata_only { request.list_metadata(&params) } else { request.list(&params) }
}

/// Reads a list into memory. Objects for which `read` returns `None` are left out.
pub(crate) async fn collect<T: Send + 'static>(
    fetch: &Fetch,
    what: &str,
    path: &str,
    selection: &Selection,
    read: impl FnMut(Value) -> Option<T> + Send + 'static,
) -> Result<Vec<T>, ClusterError> {
    let sink = Collector { read, items: Vec::new() };
    list(fetch, what, path, selection, sink).await.map(|(collector, _)| collector.items)
}

struct Collector<T, F> {
    read: F,
    items: Vec<T>,
}

impl<T: Send + 'static, F: FnMut(Value) -> Option<T> + Send + 'static> Sink for Collector<T, F> {
    fn item(&mut self, item: Value) -> io::Result<()> {
        self.items.extend((self.read)(item));
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.items.clear();
        Ok(())
    }
}

/// Passes every item of a list to `each`, and returns the metadata of the list. Only one item is in
/// memory at a time.
///
/// A bare array is accepted too, because older archives contain files with one.
pub(super) fn read_list<'de>(
    mut de: serde_json::Deserializer<impl serde_json::de::Read<'de>>,
    each: &mut dyn FnMut(Value) -> io::Result<()>,
) -> io::Result<Map<String, Value>> {
    let mut failed = None;
    let read = de.deserialize_any(List(Items { each, failed: &mut failed }));
    match failed {
        Some(error) => Err(error),
        None => read
            .and_then(|metadata| de.end().map(|()| metadata))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("it is not a list: {error}"))),
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
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut metadata, mut has_items) = (Map::new(), false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "items" => {
                    map.next_value_seed(&mut self.0)?;
                    has_items = true;
                }
                "metadata" => {
                    if let Value::Object(found) = map.next_value()? {
                        metadata = found;
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        // Without it, this is another document, and not a list without objects.
        if has_items { Ok(metadata) } else { Err(serde::de::Error::missing_field("items")) }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, seq: A) -> Result<Self::Value, A::Error> {
        (&mut self.0).visit_seq(seq).map(|()| Map::new())
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

    fn read(text: &str) -> (io::Result<Map<String, Value>>, Vec<Value>) {
        let mut items = Vec::new();
        let metadata = read_list(serde_json::Deserializer::from_str(text), &mut |item| {
            items.push(item);
            Ok(())
        });
        (metadata, items)
    }

    #[test]
    fn items_come_wherever_they_stand() {
        let (metadata, items) = read(r#"{"items":[1,{"a":2}],"kind":"L","metadata":{"continue":"t"}}"#);
        assert_eq!((&metadata.unwrap()["continue"], items.len()), (&Value::from("t"), 2));
        let (metadata, items) = read(r#"{"metadata":{"continue":""},"items":null}"#);
        assert_eq!((&metadata.unwrap()["continue"], items.len()), (&Value::from(""), 0));
        let (metadata, items) = read("[1,2,3]");
        assert_eq!((metadata.unwrap(), items.len()), (Map::new(), 3));
    }

    #[test]
    fn other_answers_are_refused() {
        let status = r#"{"kind":"Status","metadata":{},"status":"Failure","code":500}"#;
        for text in ["", "null", "3", "{\"items\":[1", "{\"items\":7}", "{} {}", "{}", status] {
            assert!(read(text).0.is_err(), "{text}");
        }
        let full = read_list(serde_json::Deserializer::from_str("[1]"), &mut |_| Err(io::Error::other("disk full")));
        assert_eq!(full.unwrap_err().to_string(), "disk full");
    }
}
