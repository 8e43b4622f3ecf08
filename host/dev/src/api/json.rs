//! Reads and writes JSON values of unknown structure.

use serde_json::{Map, Value};

/// Returns the string at a JSON pointer; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the elements of the array at a JSON pointer; none if there is no array.
pub(crate) fn array<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the members of the object at a JSON pointer.
pub(crate) fn members<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

/// Returns the value as an object. Any other value is replaced by an empty object.
pub(crate) fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it has just been made an object"),
    }
}

/// Sets the value at a path of member names, and creates missing objects on the way.
pub(crate) fn set(value: &mut Value, path: &[&str], new: impl Into<Value>) {
    let mut at = value;
    for name in path {
        at = object(at).entry(*name).or_insert(Value::Null);
    }
    *at = new.into();
}

/// Removes and returns a member, if it exists.
pub(crate) fn unset(value: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, way) = path.split_last()?;
    let mut at = value;
    for name in way {
        at = at.get_mut(*name)?;
    }
    at.as_object_mut()?.remove(*last)
}
