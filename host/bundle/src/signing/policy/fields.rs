//! Walks over a document of which every key must be known: a policy that is understood by half is none.

use serde_json::{Map, Value};

use crate::signing::statement::shown;
use plumbline_core::closest;

/// Where something is wrong, and what.
pub(super) type Wrong = String;

/// The mapping at `path`, none of whose keys is unknown.
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

/// The mapping at `path`, whatever its keys.
pub(super) fn any_mapping<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, Wrong> {
    value.as_object().ok_or_else(|| format!("{} must be a mapping", named(path)))
}

/// The list at `path`, of at most `limit` entries.
pub(super) fn list<'a>(value: &'a Value, path: &str, limit: usize) -> Result<&'a [Value], Wrong> {
    match value.as_array() {
        Some(list) if list.len() <= limit => Ok(list),
        Some(_) => Err(format!("{} has more than {limit} entries", named(path))),
        None => Err(format!("{} must be a list", named(path))),
    }
}

/// The text at `path`, not empty and of at most `limit` bytes.
pub(super) fn text<'a>(value: &'a Value, path: &str, limit: usize) -> Result<&'a str, Wrong> {
    match value.as_str() {
        Some(text) if text.len() > limit => Err(format!("{} is longer than {limit} bytes", named(path))),
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("{} must be a text", named(path))),
    }
}

/// A name that is looked up among `known` ones and is not there.
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

/// The path of `key` below `path`.
pub(super) fn at(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn named(path: &str) -> String {
    if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    /// Names that a message tells.
    const MAX_LISTED: usize = 16;
    names.into_iter().take(MAX_LISTED).map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ")
}
