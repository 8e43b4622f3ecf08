//! The rules of a pod spec that its type does not express.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::json;
use crate::api::validate::is_label;

/// The lists of containers in a pod spec.
pub(super) const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

/// Adds the problems of a pod spec.
pub(super) fn check(spec: &Value, found: &mut Vec<String>) {
    let mut volumes = BTreeSet::new();
    for volume in json::array(spec, "/volumes") {
        let name = json::text(volume, "/name");
        if !is_label(name) {
            found.push(format!("volume `{name}` is not called by a DNS label"));
        }
        if !volumes.insert(name) {
            found.push(format!("there are two volumes `{name}`"));
        }
        if volume.as_object().is_some_and(|fields| fields.len() != 2) {
            found.push(format!("volume `{name}` has not exactly one source"));
        }
    }
    if json::array(spec, "/containers").is_empty() {
        found.push("it has no container".to_owned());
    }
    let mut names = BTreeSet::new();
    for container in CONTAINERS.iter().flat_map(|list| json::array(spec, &format!("/{list}"))) {
        let name = json::text(container, "/name");
        if !is_label(name) {
            found.push(format!("container `{name}` is not called by a DNS label"));
        }
        if !names.insert(name) {
            found.push(format!("there are two containers `{name}`"));
        }
        if json::text(container, "/image").is_empty() {
            found.push(format!("container `{name}` has no image"));
        }
        mounts(name, container, &volumes, found);
        variables(name, container, found);
    }
}

fn mounts(name: &str, container: &Value, volumes: &BTreeSet<&str>, found: &mut Vec<String>) {
    let mut paths = BTreeSet::new();
    for mount in json::array(container, "/volumeMounts") {
        let (volume, path) = (json::text(mount, "/name"), json::text(mount, "/mountPath"));
        if !volumes.contains(volume) {
            found.push(format!("container `{name}` mounts volume `{volume}`, which the pod does not have"));
        }
        if !paths.insert(path) {
            found.push(format!("container `{name}` mounts two volumes at `{path}`"));
        }
    }
}

fn variables(name: &str, container: &Value, found: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for variable in json::array(container, "/env") {
        let key = json::text(variable, "/name");
        if key.is_empty() || !seen.insert(key) {
            found.push(format!("container `{name}` has a variable `{key}` twice, or without a name"));
        }
        if variable.get("value").is_some() && variable.get("valueFrom").is_some() {
            found.push(format!("variable `{key}` of container `{name}` has two values"));
        }
    }
}
