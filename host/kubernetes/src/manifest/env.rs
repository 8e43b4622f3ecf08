//! Environment variables of a container, as a list of core/v1 `EnvVar`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Variables that every container of a plugin gets.
pub const AUTOMATIC_VARIABLES: [&str; 6] = [
    "RESULTS_DIR",
    "SONOBUOY",
    "SONOBUOY_CONFIG_DIR",
    "SONOBUOY_K8S_VERSION",
    "SONOBUOY_PROGRESS_PORT",
    "SONOBUOY_RESULTS_DIR",
];

/// Merges `over` into the variables of `list`. An empty value removes a variable.
///
/// The result is sorted by lower-case name, as in Sonobuoy. Of two variables with one name the last
/// one applies, as in a container. Entries without a name stay in front, for the API server to
/// reject.
#[must_use]
pub fn merged(list: Vec<Value>, over: &BTreeMap<String, String>) -> Vec<Value> {
    let mut nameless = Vec::new();
    let mut named: BTreeMap<(String, String), Value> = BTreeMap::new();
    let key = |name: &str| (name.to_lowercase(), name.to_owned());
    for variable in list {
        match variable.get("name").and_then(Value::as_str).map(key) {
            Some(key) => drop(named.insert(key, variable)),
            None => nameless.push(variable),
        }
    }
    for (name, value) in over {
        match value.as_str() {
            "" => drop(named.remove(&key(name))),
            value => drop(named.insert(key(name), json!({"name": name, "value": value}))),
        }
    }
    nameless.into_iter().chain(named.into_values()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_over_wins_and_an_empty_value_removes() {
        let list = vec![
            json!({"name": "b", "value": "1"}),
            json!({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}),
            json!({"name": "gone", "value": "1"}),
            json!({"name": "b", "value": "2"}),
        ];
        let over = [("c", "3"), ("gone", ""), ("absent", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let merged = merged(list, &over);
        assert_eq!(
            merged,
            [
                json!({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}),
                json!({"name": "b", "value": "2"}),
                json!({"name": "c", "value": "3"}),
            ]
        );
    }
}
