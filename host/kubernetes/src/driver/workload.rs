//! The object that executes a plugin: a pod or a DaemonSet.

use plumbline_aggregator::WorkerAccess;
use plumbline_core::Driver;
use plumbline_core::definition::Definition;
use serde_json::{Value, json};

use super::error::DriverError;
use super::naming::{custom_annotations, labels, metadata, workload_name};
use super::pod_spec::pod_spec;
use super::stage::Stage;
use crate::names;

/// The object that executes a plugin.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// One pod.
    Pod(Value),
    /// One pod on every node.
    DaemonSet(Value),
}

/// Returns the object that executes the plugin, according to its driver.
///
/// # Errors
/// Returns [`DriverError`] if the definition cannot be executed in a cluster.
pub fn workload(
    stage: &Stage,
    definition: &Definition,
    session: &str,
    access: &WorkerAccess,
) -> Result<Workload, DriverError> {
    match definition.driver {
        Driver::Job => pod(stage, definition, session, access).map(Workload::Pod),
        Driver::DaemonSet => daemon_set(stage, definition, session, access).map(Workload::DaemonSet),
        Driver::Process => Err(DriverError::Process(definition.name.to_string())),
    }
}

/// Returns the pod of a plugin with the driver `Job`.
///
/// This is a pod and not a Kubernetes Job: a plugin is executed once, its failure is a result, and
/// nothing may retry it.
///
/// # Errors
/// Returns [`DriverError`] if the definition cannot be executed in a cluster.
pub fn pod(stage: &Stage, definition: &Definition, session: &str, access: &WorkerAccess) -> Result<Value, DriverError> {
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(stage, definition, session, workload_name(definition, session)?)?,
        "spec": pod_spec(stage, definition, access)?,
    }))
}

/// Returns the DaemonSet of a plugin with the driver `DaemonSet`.
///
/// # Errors
/// Returns [`DriverError`] if the definition cannot be executed in a cluster.
pub fn daemon_set(
    stage: &Stage,
    definition: &Definition,
    session: &str,
    access: &WorkerAccess,
) -> Result<Value, DriverError> {
    let mut template = json!({"labels": labels(definition, session)?});
    let annotations = custom_annotations(stage);
    if let (false, Value::Object(template)) = (annotations.is_empty(), &mut template) {
        template.insert("annotations".to_owned(), Value::Object(annotations));
    }
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(stage, definition, session, workload_name(definition, session)?)?,
        "spec": {
            "selector": {"matchLabels": {names::SESSION_LABEL: session}},
            "template": {
                "metadata": template,
                "spec": pod_spec(stage, definition, access)?,
            },
        },
    }))
}
