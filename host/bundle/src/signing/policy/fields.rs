//! Strict access to a document that rejects unknown keys. A policy that is only partly understood
//! must not be used.

use serde_json::{Map, Value};

use crate::signing::statement::shown;
use plumbline_core::closest;

/// Error message with the location of the problem.
pub(super) type Wrong = String;

/// Returns the mapping at `path`. It must have no keys other than `known`.
pub(super) fn mapping<'a>(value: &'a Value, path: &str, known: &[&str]) -> Result<&'a Map<String, Value>, Wrong> {
    let map = any_mapping(value, path)?;
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(map),
        Some(key) => {
            let meant = match closest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known here: {}", listed(known.iter().copied())),
            };
            Err(format!("`{}` is not a known key: {meant}", at(path, &shown(key))))
        }
    }
}

/// Returns the mapping at `path`, with arbitrary keys.
pub(super) fn any_mapping<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, Wrong> {
    value.as_object().ok_or_else(|| format!("{} must be a mapping", named(path)))
}

/// Returns the list at `path`, which may have at most `limit` entries.
pub(super) fn list<'a>(value: &'a Value, path: &str, limit: usize) -> Result<&'a [Value], Wrong> {
    match value.as_array() {
        Some(list) if list.len() <= limit => Ok(list),
        Some(_) => Err(format!("{} has more than {limit} entries", named(path))),
        None => Err(format!("{} must be a list", named(path))),
    }
}

/// Returns the string at `path`, which must have between 1 and `limit` bytes.
pub(super) fn text<'a>(value: &'a Value, path: &str, limit: usize) -> Result<&'a str, Wrong> {
    match value.as_str() {
        Some(text) if text.len() > limit => Err(format!("{} is longer than {limit} bytes", named(path))),
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("{} must be a text", named(path))),
    }
}

/// Returns the error for a key name that is not among `known`.
pub(super) fn unknown<'a>(name: &str, path: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Wrong {
    match closest(name, known.clone()) {
        Some(meant) => format!(
            "{} names the key `{}`, which is not under `keys`: did you mean `{meant}`?",
            named(path),
            shown(name)
        ),
        None => {
            format!("{} names the key `{}`, which is not under `keys` ({})", named(path), shown(name), listed(known))
        }
    }
}

/// Returns the path of `key` below `path`.
pub(super) fn at(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn named(path: &str) -> String {
    if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    /// Maximum number of names in a message.
    const MAX_LISTED: usize = 16;
    names.into_iter().take(MAX_LISTED).map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ")
}
