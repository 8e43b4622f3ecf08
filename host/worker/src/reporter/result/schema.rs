//! What is in the file: JSON with `status`, `reason`, `message`, `details`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::reporter::text::clipped;

/// Characters of a reason.
const MAX_REASON: usize = 128;
/// Characters of a message.
const MAX_MESSAGE: usize = 1024;
/// The reason of a result that gives none.
const NO_REASON: &str = "NoReasonProvided";
/// The message of a result that gives none.
const NO_MESSAGE: &str = "No message provided";

/// What the adapter says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterResult {
    /// Whether it succeeded.
    pub success: bool,
    /// A word for programs, at most 128 characters.
    pub reason: String,
    /// A sentence for people, at most 1,024 characters.
    pub message: String,
    /// Whatever else it has to say, as the JSON that it wrote.
    pub details: Option<Box<str>>,
}

impl AdapterResult {
    /// A result within the bounds of the contract: trimmed, cut, with words for what is not there.
    #[must_use]
    pub fn new(success: bool, reason: &str, message: &str, details: Option<Box<str>>) -> Self {
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        Self {
            success,
            reason: or(clipped(reason, MAX_REASON), NO_REASON),
            message: or(clipped(message, MAX_MESSAGE), NO_MESSAGE),
            details,
        }
    }
}

/// Why a file is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It is no JSON, or not yet.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// It is JSON, but not an object.
    #[error("must be a JSON object")]
    NotAnObject,
    /// The status is missing, or something else.
    #[error("status: must be either 'success' or 'failure'")]
    Status,
    /// A text is something else.
    #[error("{0}: must be a string")]
    NotAString(&'static str),
}

/// Reads a result.
///
/// As adapters in the field rely on it: keys that are not known are ignored, the last of two equal keys counts, a key in other letter case
/// is taken where the exact one is missing, `null` is as good as nothing, and bytes that are no UTF-8 are replaced.
///
/// # Errors
/// What is wrong with it.
pub fn parse(bytes: &[u8]) -> Result<AdapterResult, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let text = String::from_utf8_lossy(bytes);
    // Values stay text: `details` may be nested as deep, and hold numbers as large, as it likes.
    let whole: &RawValue = serde_json::from_str(&text).map_err(|error| FormatError::Json(error.to_string()))?;
    let fields: BTreeMap<String, &RawValue> = match whole.get().as_bytes().first() {
        Some(b'{') => serde_json::from_str(whole.get()).map_err(|error| FormatError::Json(error.to_string()))?,
        _ => return Err(FormatError::NotAnObject),
    };
    let status = string(&fields, "status").map_err(|_| FormatError::Status)?;
    let success = match status.as_str() {
        "success" => true,
        "failure" => false,
        _ => return Err(FormatError::Status),
    };
    let (reason, message) = (string(&fields, "reason")?, string(&fields, "message")?);
    let details = field(&fields, "details").map(RawValue::get).filter(|json| *json != "null").map(Box::from);
    Ok(AdapterResult::new(success, &reason, &message, details))
}

fn field<'a>(fields: &BTreeMap<String, &'a RawValue>, name: &str) -> Option<&'a RawValue> {
    let exact = fields.get(name);
    exact.or_else(|| fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)).copied()
}

fn string(fields: &BTreeMap<String, &RawValue>, name: &'static str) -> Result<String, FormatError> {
    let Some(value) = field(fields, name) else { return Ok(String::new()) };
    let text: Option<String> = serde_json::from_str(value.get()).map_err(|_| FormatError::NotAString(name))?;
    Ok(text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(text: &str) -> AdapterResult {
        parse(text.as_bytes()).unwrap()
    }

    #[track_caller]
    fn bad(text: &str, told: &str) {
        assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), told, "{text}");
    }

    #[test]
    fn a_result_is_what_the_contract_says() {
        let result = good(
            r#"{"status": "failure", "reason": " MissingPermissions ", "message": "lacks\n", "details": {"a": [1, 2]}, "x": 1}"#,
        );
        assert!(!result.success);
        assert_eq!((result.reason.as_str(), result.message.as_str()), ("MissingPermissions", "lacks"));
        assert_eq!(result.details.as_deref(), Some(r#"{"a": [1, 2]}"#));
        assert!(good(r#"{"status":"success"}"#).success);
    }

    #[test]
    fn what_is_missing_or_blank_has_words() {
        for text in [r#"{"status":"success"}"#, r#"{"status":"success","reason":"  ","message":null,"details":null}"#] {
            let result = good(text);
            assert_eq!((result.reason.as_str(), result.message.as_str()), (NO_REASON, NO_MESSAGE));
            assert_eq!(result.details, None);
        }
    }

    #[test]
    fn long_texts_are_cut_by_characters() {
        let text = format!(r#"{{"status":"success","reason":"{}","message":"{}"}}"#, "ä".repeat(129), "ö".repeat(1025));
        let result = good(&text);
        assert_eq!((result.reason.chars().count(), result.message.chars().count()), (128, 1024));
    }

    #[test]
    fn the_status_is_one_of_two_words() {
        let told = "status: must be either 'success' or 'failure'";
        for status in [r#""Success""#, r#""passed""#, r#""success ""#, "null", "true", "1", "[]"] {
            bad(&format!(r#"{{"status":{status}}}"#), told);
        }
        bad("{}", told);
    }

    #[test]
    fn what_is_no_result_says_why() {
        bad("", "the file is empty");
        bad("[]", "must be a JSON object");
        bad("null", "must be a JSON object");
        bad(r#"{"status":"success","reason":7}"#, "reason: must be a string");
        bad(r#"{"status":"success","message":{}}"#, "message: must be a string");
        for text in [" \n", "{", r#"{"status":"success""#, r#"{"status":"success"} x"#, "success", "\u{feff}{}"] {
            assert!(matches!(parse(text.as_bytes()), Err(FormatError::Json(_))), "{text}");
        }
    }

    #[test]
    fn details_may_be_anything() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for details in ["1e999", "\"text\"", "false", deep.as_str()] {
            let result = good(&format!(r#"{{"details":{details},"status":"success"}}"#));
            assert_eq!(result.details.as_deref(), Some(details));
        }
    }

    #[test]
    fn what_the_field_writes_is_taken() {
        assert!(good(r#"{"Status":"success"}"#).success);
        assert!(!good(r#"{"Status":"success","status":"failure"}"#).success);
        assert!(!good(r#"{"status":"success","status":"failure"}"#).success);
        let result = parse(b"{\"status\":\"success\",\"message\":\"a\xffb\"}").unwrap();
        assert_eq!(result.message, "a\u{fffd}b");
    }
}
