//! The object that executes a plugin: a pod or a DaemonSet.

use plumbline_aggregator::WorkerAccess;
use plumbline_core::Driver;
use plumbline_core::definition::Definition;
use serde_json::{Value, json};

use super::check::CheckPod;
use super::error::DriverError;
use super::pod_spec::pod_spec;
use super::stage::Stage;
use crate::names;
use crate::parts::{set_owner, without_nulls};

/// Annotation on objects that stay after the run, because their definition says `skip-cleanup`.
///
/// A restarted aggregator, which did not create the object itself, reads it.
pub const SKIP_CLEANUP_ANNOTATION: &str = "plumbline.dev/skip-cleanup";

/// Maximum length of a label value (Kubernetes, "Labels and Selectors").
const MAX_LABEL: usize = 63;

/// Returns the object that executes the plugin: one pod for the driver `Job`, and a DaemonSet for
/// the driver `DaemonSet`.
///
/// A Job is a pod and not a Kubernetes Job: a plugin is executed once, its failure is a result, and
/// nothing may retry it. `check` is what the plugin runs in place of an image, if it does.
///
/// # Errors
/// Returns [`DriverError`] if the definition cannot be executed in a cluster.
pub fn workload(
    stage: &Stage,
    definition: &Definition,
    session: &str,
    access: &WorkerAccess,
    check: Option<&CheckPod>,
) -> Result<Value, DriverError> {
    let (api_version, kind) = match definition.driver {
        Driver::Job => ("v1", "Pod"),
        Driver::DaemonSet => ("apps/v1", "DaemonSet"),
        Driver::Process => return Err(DriverError::Process(definition.name.clone())),
    };
    let labels = labels(definition, session)?;
    let mut annotations = stage.custom_annotations.clone();
    // Plumbline's own annotations take precedence, because other programs find plugins by them.
    annotations.insert(names::DRIVER_ANNOTATION.to_owned(), definition.driver.as_str().to_owned());
    annotations.insert(names::PLUGIN_LABEL.to_owned(), definition.name.to_string());
    if definition.skip_cleanup {
        annotations.insert(SKIP_CLEANUP_ANNOTATION.to_owned(), "true".to_owned());
    }
    let metadata = json!({
        "name": names::workload(&definition.name, definition.driver, session),
        "namespace": stage.namespace,
        "labels": labels,
        "annotations": annotations,
    });
    let pod_spec = pod_spec(stage, definition, access, check)?;
    let spec = if definition.driver.is_per_node() {
        let custom = &stage.custom_annotations;
        let annotations = (!custom.is_empty()).then_some(custom);
        json!({
            "selector": {"matchLabels": {names::SESSION_LABEL: session}},
            "template": {
                "metadata": without_nulls(json!({"labels": labels, "annotations": annotations})),
                "spec": pod_spec,
            },
        })
    } else {
        pod_spec
    };
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
    set_owner(&mut object, stage.owner.as_ref());
    Ok(object)
}

fn labels(definition: &Definition, session: &str) -> Result<Value, DriverError> {
    let labels = [
        (names::COMPONENT_LABEL, names::COMPONENT_VALUE),
        (names::ROLE_LABEL, names::PLUGIN),
        (names::PLUGIN_LABEL, definition.name.as_str()),
        (names::SESSION_LABEL, session),
        (names::TIER_LABEL, names::TIER_VALUE),
    ];
    match labels.iter().find(|(_, value)| value.len() > MAX_LABEL) {
        Some((label, value)) => Err(DriverError::LabelTooLong { label, value: (*value).to_owned() }),
        None => Ok(labels.into_iter().map(|(label, value)| (label.to_owned(), json!(value))).collect()),
    }
}
