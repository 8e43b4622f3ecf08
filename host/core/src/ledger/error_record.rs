//! Error records, which replace results that will not arrive, and their limits.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::limits::ERROR_BYTES;

/// The maximum nesting depth of the details in an uploaded record: 64. A pod, the deepest known
/// value, has about 20 levels.
///
/// The journal nests records a few levels deeper in its lines, and a JSON parser gives up at 128
/// levels. A record that is accepted here must never make the journal unreadable.
pub const MAX_ERROR_DEPTH: usize = 64;

/// The memory that a JSON value takes with its place in a list, in bytes. A list has up to twice the
/// places that it needs.
const VALUE_MEMORY: usize = 64;

/// The memory of the first node of a JSON object, in bytes. Even an object with one field takes it.
const OBJECT_MEMORY: usize = 640;

/// The note in place of a detail.
const LEFT_OUT: &str = "left out: it is too large";

/// The error record that replaces a result that will not arrive: the content of `error.json`.
///
/// As part of an [`super::Event`], its details are under `details`. In `error.json`, they are next
/// to `error`: see [`ErrorRecord::from_json`] and [`ErrorRecord::to_error_json`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// The error as one sentence.
    pub error: String,
    /// Further details, such as the `pod`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// Error for a document that is not an error record (HTTP status 400).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorRecordError {
    /// The document is not JSON.
    #[error("error record is not valid JSON: {0}")]
    Invalid(String),
    /// The document is JSON but not an object.
    #[error("error record is not a JSON object")]
    NotAnObject,
    /// The key `error` is missing or not a string.
    #[error("error record has no text under `error`")]
    NoError,
    /// The document exceeds [`MAX_ERROR_DEPTH`].
    #[error("error record is nested too deeply: at most {MAX_ERROR_DEPTH} levels are read")]
    TooDeep,
}

impl ErrorRecord {
    /// Creates a record with this message and no details.
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), details: Map::new() }
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    /// Reads an `error.json`: an object with a string under `error`. All other keys become details.
    ///
    /// The caller limits the size of `document` (see [`crate::ReceiveLimits::message_bytes`]).
    pub fn from_json(document: &[u8]) -> Result<Self, ErrorRecordError> {
        let value: Value =
            serde_json::from_slice(document).map_err(|error| ErrorRecordError::Invalid(error.to_string()))?;
        if !is_within(&value, MAX_ERROR_DEPTH) {
            return Err(ErrorRecordError::TooDeep);
        }
        let Value::Object(mut details) = value else { return Err(ErrorRecordError::NotAnObject) };
        match details.remove("error") {
            Some(Value::String(error)) => Ok(Self { error, details }),
            _ => Err(ErrorRecordError::NoError),
        }
    }

    /// Reads the error document of a worker like [`ErrorRecord::from_json`], but within
    /// [`ERROR_BYTES`]. Of a larger document, only the message is read, because its values can take
    /// a hundred times its size in memory.
    pub fn received(document: &[u8]) -> Result<Self, ErrorRecordError> {
        if document.len() <= ERROR_BYTES {
            return Ok(Self::from_json(document)?.bounded(ERROR_BYTES));
        }
        let message: Message = serde_json::from_slice(document).map_err(|error| {
            if error.is_data() { ErrorRecordError::NoError } else { ErrorRecordError::Invalid(error.to_string()) }
        })?;
        let record = Self::new(message.error.ok_or(ErrorRecordError::NoError)?);
        let record = if message.has_details { record.with("details", LEFT_OUT) } else { record };
        Ok(record.bounded(ERROR_BYTES))
    }

    /// Returns about how much memory the record takes, in bytes.
    pub fn memory(&self) -> usize {
        let details = if self.details.is_empty() { 0 } else { object_memory(&self.details) };
        self.error.len().saturating_add(details)
    }

    /// Returns the record within about `limit` bytes of memory: if it takes more, a long message is
    /// cut, and the largest details are replaced by notes.
    #[must_use]
    pub fn bounded(mut self, limit: usize) -> Self {
        if self.memory() <= limit {
            return self;
        }
        let end = self.error.floor_char_boundary(limit / 4);
        if end < self.error.len() {
            self.error.truncate(end);
            self.error.push('…');
            self.error.shrink_to_fit();
        }
        let mut sizes: Vec<(usize, String)> =
            self.details.iter().map(|(key, value)| (value_memory(value), key.clone())).collect();
        sizes.sort_unstable();
        let note = VALUE_MEMORY + LEFT_OUT.len();
        let mut memory = self.memory();
        while memory > limit
            && let Some((size, key)) = sizes.pop()
        {
            self.details.insert(key, LEFT_OUT.into());
            memory = memory.saturating_sub(size).saturating_add(note);
        }
        // Even the notes are too many.
        if memory > limit {
            self.details = Map::from_iter([("details".to_owned(), LEFT_OUT.into())]);
        }
        self
    }

    /// Returns whether the result is missing because of a timeout. As for every reader of
    /// `error.json`, the message contains the word `timeout` in that case.
    pub fn is_timeout(&self) -> bool {
        self.error.contains("timeout")
    }

    /// Returns the content of `error.json`: `error`, with the details next to it. A detail named
    /// `error` is overwritten.
    pub fn to_error_json(&self) -> Value {
        let mut object = self.details.clone();
        object.insert("error".to_owned(), Value::String(self.error.clone()));
        Value::Object(object)
    }
}

/// An error document of which only the message is read. Other values are skipped and take no memory.
struct Message {
    error: Option<String>,
    has_details: bool,
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        de.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Message;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut fields: M) -> Result<Message, M::Error> {
        let mut message = Message { error: None, has_details: false };
        while let Some(key) = fields.next_key::<String>()? {
            if key == "error" {
                message.error = Some(fields.next_value()?);
            } else {
                message.has_details = true;
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(message)
    }
}

fn value_memory(value: &Value) -> usize {
    let content = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_memory).sum(),
        Value::Object(fields) => object_memory(fields),
        _ => 0,
    };
    content.saturating_add(VALUE_MEMORY)
}

fn object_memory(fields: &Map<String, Value>) -> usize {
    let content: usize = fields.iter().map(|(key, value)| VALUE_MEMORY + key.len() + value_memory(value)).sum();
    content.saturating_add(OBJECT_MEMORY)
}

/// Returns whether `value` has at most `levels` levels of mappings and lists.
fn is_within(value: &Value, levels: usize) -> bool {
    let mut open = vec![(value, levels)];
    while let Some((value, levels)) = open.pop() {
        let children: Vec<&Value> = match value {
            Value::Object(fields) => fields.values().collect(),
            Value::Array(items) => items.iter().collect(),
            _ => continue,
        };
        let Some(below) = levels.checked_sub(1) else { return false };
        open.extend(children.into_iter().map(|child| (child, below)));
    }
    true
}

#[cfg(test)]
#[path = "error_record_tests.rs"]
mod tests;
