//! Lists inside objects that users wrote. Absent, `null` and empty mean the same, as for the API
//! server.

use plumbline_core::definition::Definition;
use serde_json::{Map, Value};

use super::error::DriverError;

/// Removes and returns the list under `key` of the object at path `place`.
pub(super) fn take(
    definition: &Definition,
    object: &mut Map<String, Value>,
    place: &str,
    key: &str,
) -> Result<Vec<Value>, DriverError> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(wrong(definition, format!("{place}.{key}"), "a list")),
    }
}

/// Removes and returns a list of mappings.
pub(super) fn take_maps(
    definition: &Definition,
    object: &mut Map<String, Value>,
    place: &str,
    key: &str,
) -> Result<Vec<Map<String, Value>>, DriverError> {
    let items = take(definition, object, place, key)?.into_iter().enumerate();
    items
        .map(|(i, item)| match item {
            Value::Object(map) => Ok(map),
            _ => Err(wrong(definition, format!("{place}.{key}[{i}]"), "a mapping")),
        })
        .collect()
}

/// Puts a list back, unless it is empty.
pub(super) fn put(object: &mut Map<String, Value>, key: &str, items: Vec<Map<String, Value>>) {
    if !items.is_empty() {
        object.insert(key.to_owned(), Value::Array(items.into_iter().map(Value::Object).collect()));
    }
}

/// Returns the string under `name` of one entry.
pub(super) fn name(entry: &Map<String, Value>) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

pub(super) fn wrong(definition: &Definition, place: String, expected: &'static str) -> DriverError {
    DriverError::Type { plugin: definition.name.to_string(), place, expected }
}
