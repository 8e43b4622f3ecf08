//! Flattens nested configuration into flat keys with plain values.

use serde_json::{Map, Value};

/// Maximum number of keys that are kept.
const MAX_KEYS: usize = 500;
/// Maximum nesting depth. No known configuration is deeper.
const MAX_DEPTH: usize = 8;
/// Maximum length of a string, in characters.
const MAX_TEXT: usize = 1024;

/// Returns the fields of `value` whose top-level name is in `wanted`, with the path joined by dots.
///
/// Lists of plain values become one comma-separated string. Other lists are left out.
pub(super) fn flatten(value: &Value, wanted: &[&str]) -> Map<String, Value> {
    let mut flat = Map::new();
    if let Value::Object(fields) = value {
        for (name, value) in fields.iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
            add(&mut flat, name.clone(), value, 1);
        }
    }
    flat
}

fn add(flat: &mut Map<String, Value>, key: String, value: &Value, depth: usize) {
    if flat.len() >= MAX_KEYS || depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                add(flat, format!("{key}.{name}"), value, depth + 1);
            }
        }
        Value::Array(list) => {
            let plain: Option<Vec<String>> = list.iter().map(plain).collect();
            if let Some(plain) = plain {
                flat.insert(key, cut(&plain.join(",")).into());
            }
        }
        Value::String(text) => drop(flat.insert(key, cut(text).into())),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => drop(flat.insert(key, value.clone())),
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_wanted_is_kept_and_flat() {
        let configuration = json!({
            "maxPods": 110, "failSwapOn": true, "clusterDNS": ["10.96.0.10", "fd00::a"],
            "evictionHard": {"memory.available": "100Mi"}, "registerWithTaints": [{"key": "x"}], "none": null,
            "staticPodURLHeader": {"Authorization": ["Bearer secret"]},
        });
        let wanted = ["maxPods", "failSwapOn", "clusterDNS", "evictionHard", "registerWithTaints", "none"];
        assert_eq!(
            Value::from(flatten(&configuration, &wanted)),
            json!({
                "maxPods": 110, "failSwapOn": true, "clusterDNS": "10.96.0.10,fd00::a",
                "evictionHard.memory.available": "100Mi",
            })
        );
    }
}
