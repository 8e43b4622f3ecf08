//! Pure functions that derive the state of the adapter from a pod's JSON.

mod fate;
mod look;
mod naming;
mod state;

pub use fate::Disruption;
pub use look::{PodLook, PodNews, look};
pub use naming::Naming;
pub use state::{AdapterState, Exit};

use serde_json::Value;

/// Maximum length in characters of a text from a pod's status. Several such texts are combined in
/// one message.
const MAX_TEXT: usize = 300;

/// Returns a string in an object, or an empty string if it is missing or has another type.
fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a string for a message, or `None` if it is missing or blank.
fn told(value: &Value, path: &str) -> Option<String> {
    Some(crate::reporter::text::clipped(text(value, path), MAX_TEXT)).filter(|text| !text.is_empty())
}

/// Returns the elements of a list, or none if it is missing or has another type.
fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
