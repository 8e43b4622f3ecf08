//! What a pod says of the adapter: pure functions over its JSON.

mod fate;
mod look;
mod naming;
mod state;

pub use fate::Fate;
pub use look::{PodLook, PodNews, look};
pub use naming::Naming;
pub use state::{AdapterState, Exit};

use serde_json::Value;

/// Characters of a text out of a pod's status: they end up in one message together.
const MAX_TEXT: usize = 300;

/// A text in an object; empty if it is not there or something else.
fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// A text for a message; `None` if it is not there or blank.
fn told(value: &Value, path: &str) -> Option<String> {
    Some(crate::reporter::text::clipped(text(value, path), MAX_TEXT)).filter(|text| !text.is_empty())
}

/// The elements of a list; none if it is not there or something else.
fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
