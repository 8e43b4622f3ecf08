//! Compares and checks Kubernetes objects.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_core::Definition;
use plumbline_dev::schema;
use serde_json::{Value, json};

/// Labels that the chart adds and `gen` does not.
const CHART_LABELS: [&str; 4] =
    ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart"];

/// Fails unless both lists hold the same objects. Embedded documents are compared by value, not as
/// text.
#[track_caller]
pub(super) fn assert_same(left: &[Value], right: &[Value]) {
    let (left, right) = (by_id(left), by_id(right));
    let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&left), names(&right));
    let mut found = Vec::new();
    for (id, left) in &left {
        differences(id, left, &right[id], &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Adds every path at which the values differ to `found`, with both values.
fn differences(path: &str, left: &Value, right: &Value, found: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differences(&format!("{path}.{key}"), &of(left), &of(right), found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{at}]"), left, right, found);
            }
        }
        // Tools format whole numbers in different ways.
        (left, right) if left == right || left.as_f64().is_some_and(|number| Some(number) == right.as_f64()) => {}
        (left, right) => found.push(format!("{path}: {left} is not {right}")),
    }
}

fn by_id(objects: &[Value]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let id = format!("{}/{}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        assert!(all.insert(id.clone(), plain(object)).is_none(), "{id} is there twice");
    }
    all
}

/// The object without the labels of a chart, and with parsed documents instead of texts.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    // A CronJob contains the metadata of its Jobs and of their pods.
    for part in ["", "/spec/jobTemplate", "/spec/jobTemplate/spec/template"] {
        if let Some(labels) = object.pointer_mut(&format!("{part}/metadata/labels")).and_then(Value::as_object_mut) {
            labels.retain(|key, _| !CHART_LABELS.contains(&key.as_str()));
        }
    }
    // Parsed documents do not differ in a newline at the end.
    if let Some(data) = object.pointer_mut("/data").and_then(Value::as_object_mut) {
        for (key, value) in data {
            let Some(text) = value.as_str() else { continue };
            if key == "config.json" {
                *value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            } else if key.starts_with("plugin-") {
                let parsed = Definition::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
                *value = json!({"definition": parsed.definition.to_json(), "warnings": parsed.warnings.len()});
            }
        }
    }
    object
}

/// Fails unless an API server accepts each object in the namespace `namespace`, and bindings refer
/// to objects that exist.
#[track_caller]
pub(super) fn assert_applicable(objects: &[Value], namespace: &str) {
    for object in objects {
        schema::check(object).unwrap_or_else(|what| panic!("{what}"));
        let kind = object["kind"].as_str().unwrap();
        let cluster_wide = kind == "Namespace" || kind.starts_with("ClusterRole");
        let expected = if cluster_wide { &Value::Null } else { &json!(namespace) };
        assert_eq!(&object["metadata"]["namespace"], expected, "{object:#}");
        if kind.ends_with("Binding") {
            let role = &object["roleRef"];
            let bound = objects.iter().any(|other| {
                other["kind"] == role["kind"]
                    && other["metadata"]["name"] == role["name"]
                    && other["metadata"]["namespace"] == object["metadata"]["namespace"]
            });
            assert!(bound, "{object:#}");
        }
    }
}

/// Fails unless every pod is admitted at the Pod Security level `restricted`.
#[track_caller]
pub(super) fn assert_restricted(objects: &[Value]) {
    for pod in objects.iter().filter(|object| object["kind"] == "Pod") {
        assert_eq!(schema::breaches(&pod["spec"]), [""; 0], "{pod:#}");
    }
}
