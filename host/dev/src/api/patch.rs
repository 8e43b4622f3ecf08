//! Patches of objects.

use serde_json::Value;

use crate::api::json;

/// The lists whose elements a strategic merge patch (or apply) matches, with the member that
/// identifies an element. All other lists are replaced.
const KEYED: [(&str, &str); 11] = [
    ("addresses", "type"),
    ("conditions", "type"),
    ("containers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("taints", "key"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
];

/// Applies a JSON merge patch (RFC 7396): objects are merged, null removes a member, everything
/// else is replaced.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    let target = json::object(target);
    for (name, change) in changes {
        if change.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), change);
        }
    }
}

/// Applies a strategic merge patch, as far as tests need it. It is a merge patch that also merges
/// the elements of [`KEYED`] lists, and the sets of finalizers.
pub(crate) fn strategic(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    let target = json::object(target);
    for (name, change) in changes {
        if name.starts_with('$') {
            // Directives on order do not matter here. Those on elements are handled where the list
            // is merged.
            continue;
        }
        let keyed = KEYED.iter().find(|(list, _)| list == name).map(|(_, key)| *key);
        match (change, keyed) {
            (Value::Null, _) => {
                target.remove(name);
            }
            (Value::Array(changes), Some(key)) => elements(target.entry(name).or_insert(Value::Null), changes, key),
            (Value::Array(changes), None) if name == "finalizers" => {
                let old = target.entry(name).or_insert(Value::Null);
                let mut union = old.as_array().cloned().unwrap_or_default();
                for change in changes {
                    if !union.contains(change) {
                        union.push(change.clone());
                    }
                }
                *old = Value::Array(union);
            }
            _ => strategic(target.entry(name).or_insert(Value::Null), change),
        }
    }
}

fn elements(target: &mut Value, changes: &[Value], key: &str) {
    let mut list = target.as_array().cloned().unwrap_or_default();
    if changes.iter().any(|change| directive(change) == Some("replace")) {
        list.clear();
    }
    for change in changes {
        let same = |element: &Value| element.get(key).is_some() && element.get(key) == change.get(key);
        match (directive(change), list.iter_mut().find(|element| same(element))) {
            (Some("delete"), _) => list.retain(|element| !same(element)),
            (Some("replace"), _) if change.get(key).is_none() => {}
            (_, Some(element)) => strategic(element, change),
            (_, None) => {
                let mut element = Value::Null;
                strategic(&mut element, change);
                list.push(element);
            }
        }
    }
    *target = Value::Array(list);
}

fn directive(element: &Value) -> Option<&str> {
    element.get("$patch").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_replaces_lists_and_takes_away_nulls() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "l": [1, 2]});
        merge(&mut value, &json!({"a": {"b": null, "d": {"e": null, "f": 3}}, "l": [3]}));
        assert_eq!(value, json!({"a": {"c": 2, "d": {"f": 3}}, "l": [3]}));
    }

    #[test]
    fn a_strategic_patch_finds_elements_by_their_key() {
        let mut value = json!({"containers": [
            {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}], "args": ["x"]},
            {"name": "b"}, {"name": "c"}
        ]});
        let patch = json!({"containers": [
            {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}], "args": ["y"]},
            {"name": "b", "$patch": "delete"}, {"name": "d"}
        ], "$setElementOrder/containers": []});
        strategic(&mut value, &patch);
        assert_eq!(
            value,
            json!({"containers": [
                {"name": "a", "image": "2", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}], "args": ["y"]},
                {"name": "c"}, {"name": "d"}
            ]})
        );
    }
}
