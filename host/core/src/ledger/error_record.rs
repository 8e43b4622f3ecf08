//! The error record that replaces a result that will not arrive.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The maximum nesting depth of the details in an uploaded record: 64. A pod, the deepest known
/// value, has about 20 levels.
///
/// The journal nests records a few levels deeper in its lines, and a JSON parser gives up at 128
/// levels. A record that is accepted here must never make the journal unreadable.
pub const MAX_ERROR_DEPTH: usize = 64;

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
    #[must_use]
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
    ///
    /// # Errors
    ///
    /// Returns an [`ErrorRecordError`] if the document has another form or is nested too deeply.
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

    /// Returns whether the result is missing because of a timeout. As for every reader of
    /// `error.json`, the message contains the word `timeout` in that case.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.error.contains("timeout")
    }

    /// Returns the content of `error.json`: `error`, with the details next to it. A detail named
    /// `error` is overwritten.
    #[must_use]
    pub fn to_error_json(&self) -> Value {
        let mut object = self.details.clone();
        object.insert("error".to_owned(), Value::String(self.error.clone()));
        Value::Object(object)
    }
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_all_keys_beside_the_sentence() {
        let document = json!({"error": "image cannot be pulled", "pod": {"metadata": {"name": "p"}}, "node": "n1", "details": [1]});
        let record = ErrorRecord::from_json(document.to_string().as_bytes()).unwrap();
        assert_eq!(record.error, "image cannot be pulled");
        assert_eq!(record.details.keys().collect::<Vec<_>>(), ["details", "node", "pod"]);
        assert_eq!(record.to_error_json(), document);
    }

    #[test]
    fn other_documents_are_refused_by_name() {
        for (document, error) in [
            ("[]", ErrorRecordError::NotAnObject),
            ("\"timeout\"", ErrorRecordError::NotAnObject),
            ("{}", ErrorRecordError::NoError),
            (r#"{"error": 7}"#, ErrorRecordError::NoError),
            (r#"{"error": null}"#, ErrorRecordError::NoError),
        ] {
            assert_eq!(ErrorRecord::from_json(document.as_bytes()), Err(error), "{document}");
        }
        for document in [&b""[..], b"{", b"{\"error\": \"\xff\"}", b"{\"error\": \"a\"} {}"] {
            assert!(matches!(ErrorRecord::from_json(document), Err(ErrorRecordError::Invalid(_))), "{document:?}");
        }
    }

    #[test]
    fn what_is_accepted_can_be_read_back_from_a_journal_and_the_rest_is_refused() {
        use crate::ledger::{Event, Record};
        let nested = |levels: usize| {
            // The object itself is the first level.
            format!(r#"{{"error": "e", "x": {}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        let deepest = ErrorRecord::from_json(nested(MAX_ERROR_DEPTH).as_bytes()).unwrap();
        let event = Event::Failed { key: "e2e/global".parse().unwrap(), error: deepest };
        let record = Record { at: jiff::Timestamp::UNIX_EPOCH, event };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);

        assert_eq!(ErrorRecord::from_json(nested(MAX_ERROR_DEPTH + 1).as_bytes()), Err(ErrorRecordError::TooDeep));
        let flood = format!(r#"{{"error": "e", "x": {}"#, "[".repeat(1_000_000));
        assert!(ErrorRecord::from_json(flood.as_bytes()).is_err());
    }

    #[test]
    fn a_timeout_is_known_by_its_word() {
        assert!(ErrorRecord::new(crate::ledger::TIMEOUT_ERROR).is_timeout());
        assert!(!ErrorRecord::new("no such image").is_timeout());
    }

    #[test]
    fn a_detail_called_error_gives_way_to_the_sentence() {
        assert_eq!(ErrorRecord::new("a").with("error", "b").to_error_json(), json!({"error": "a"}));
    }
}
