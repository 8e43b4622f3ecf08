//! Parses the content of the file: JSON with `status`, `reason`, `message` and `details`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::reporter::text::clipped;

/// Maximum length of a reason in characters.
const MAX_REASON: usize = 128;
/// Maximum length of a message in characters.
const MAX_MESSAGE: usize = 1024;
/// The reason of a result without one.
const NO_REASON: &str = "NoReasonProvided";
/// The message of a result without one.
const NO_MESSAGE: &str = "No message provided";

/// The adapter's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterResult {
    /// Whether the adapter succeeded.
    pub success: bool,
    /// The reason, an identifier for programs with at most 128 characters.
    pub reason: String,
    /// The message, a sentence for people with at most 1,024 characters.
    pub message: String,
    /// Further details, as the JSON that the adapter wrote.
    pub details: Option<Box<str>>,
}

impl AdapterResult {
    /// Creates a result within the limits of the contract. Texts are trimmed and truncated, and
    /// missing ones get defaults.
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

/// Error in a result file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is not valid JSON, or is incomplete.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// The file is valid JSON, but not an object.
    #[error("must be a JSON object")]
    NotAnObject,
    /// The status is missing or invalid.
    #[error("status: must be either 'success' or 'failure'")]
    Status,
    /// The value is not a string.
    #[error("{0}: must be a string")]
    NotAString(&'static str),
}

/// Parses a result.
///
/// It is lenient, because existing adapters depend on that. Unknown keys are ignored, and the last
/// of two equal keys applies. If the exact key is missing, another letter case is accepted. `null`
/// counts as missing, and invalid UTF-8 is replaced.
///
/// # Errors
/// Returns a [`FormatError`] that says what is wrong with the content.
pub fn parse(bytes: &[u8]) -> Result<AdapterResult, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let text = String::from_utf8_lossy(bytes);
    // Values stay unparsed, so that `details` may have any nesting depth and any size of numbers.
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
