//! Reconciles the results directory in containers that users wrote: the mount and the variables
//! point to the directory of this run.
//!
//! Existing definitions have one of two directories hard-coded. If a plugin writes outside the
//! shared volume, its results never arrive.

use plumbline_core::definition::Definition;
use serde_json::{Map, Value, json};

use super::error::DriverError;
use super::lists;
use crate::names;

/// The environment variables that name the results directory.
pub(super) const RESULTS_VARIABLES: [&str; 2] = ["RESULTS_DIR", "SONOBUOY_RESULTS_DIR"];

/// Reconciles one container, which is at path `place` of its definition.
pub(super) fn reconcile(
    definition: &Definition,
    container: &mut Map<String, Value>,
    place: &str,
    results_dir: &str,
) -> Result<(), DriverError> {
    let mut mounts = lists::take_maps(definition, container, place, "volumeMounts")?;
    mount(&mut mounts, results_dir);
    lists::put(container, "volumeMounts", mounts);

    let mut env = lists::take_maps(definition, container, place, "env")?;
    set(&mut env, results_dir);
    lists::put(container, "env", env);
    Ok(())
}

fn mount(mounts: &mut Vec<Map<String, Value>>, results_dir: &str) {
    let is_results = |mount: &&mut Map<String, Value>| lists::name(mount) == Some(names::RESULTS_VOLUME);
    let at = |mount: &Map<String, Value>| mount.get("mountPath").and_then(Value::as_str) == Some(results_dir);
    if mounts.iter_mut().filter(is_results).any(|mount| at(mount)) {
        return;
    }
    match mounts.iter_mut().find(is_results) {
        Some(mount) => drop(mount.insert("mountPath".to_owned(), json!(results_dir))),
        None => mounts.push(entry(&[("name", names::RESULTS_VOLUME), ("mountPath", results_dir)])),
    }
}

/// Sets the variables in place, or prepends them, because a variable may refer only to earlier
/// ones.
fn set(env: &mut Vec<Map<String, Value>>, results_dir: &str) {
    for name in RESULTS_VARIABLES.into_iter().rev() {
        set_variable(env, name, results_dir);
    }
}

/// Replaces the variable in place, or prepends it.
pub(super) fn set_variable(env: &mut Vec<Map<String, Value>>, name: &str, value: &str) {
    let wanted = entry(&[("name", name), ("value", value)]);
    let mut found = false;
    for variable in env.iter_mut().filter(|variable| lists::name(variable) == Some(name)) {
        *variable = wanted.clone();
        found = true;
    }
    if !found {
        env.insert(0, wanted);
    }
}

pub(super) fn entry(fields: &[(&str, &str)]) -> Map<String, Value> {
    fields.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
}
