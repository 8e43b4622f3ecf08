//! Names, labels, annotations and owners of a plugin's objects.

use plumbline_core::Driver;
use plumbline_core::definition::Definition;
use serde_json::{Map, Value, json};

use super::error::DriverError;
use super::stage::Stage;
use crate::names;

/// The default name of a plugin's container.
pub const DEFAULT_CONTAINER: &str = "plugin";

/// Annotation on objects that stay after the run, because their definition says `skip-cleanup`.
///
/// A restarted aggregator, which did not create the object itself, reads it.
pub const SKIP_CLEANUP_ANNOTATION: &str = "plumbline.dev/skip-cleanup";

/// Maximum length of a label value (Kubernetes, "Labels and Selectors").
const MAX_LABEL: usize = 63;

/// Maximum length of an object name (RFC 1123 subdomain).
const MAX_NAME: usize = 253;

/// Returns the name of the plugin's own container.
#[must_use]
pub fn container_name(definition: &Definition) -> &str {
    definition.spec.name().unwrap_or(DEFAULT_CONTAINER)
}

/// Returns the name of a plugin's pod or DaemonSet.
///
/// # Errors
/// Returns an error if the name would be too long, or if the driver does not run in a cluster.
pub fn workload_name(definition: &Definition, session: &str) -> Result<String, DriverError> {
    match definition.driver {
        Driver::Job => checked("Pod", format!("sonobuoy-{}-job-{session}", definition.name)),
        Driver::DaemonSet => checked("DaemonSet", format!("sonobuoy-{}-daemon-set-{session}", definition.name)),
        Driver::Process => Err(DriverError::Process(definition.name.to_string())),
    }
}

fn checked(kind: &'static str, name: String) -> Result<String, DriverError> {
    match name.len() {
        length if length > MAX_NAME => Err(DriverError::NameTooLong { kind, name, length }),
        _ => Ok(name),
    }
}

/// Returns the labels of every object of a plugin.
///
/// # Errors
/// Returns an error if the plugin's name or the session ID is too long for a label.
pub fn labels(definition: &Definition, session: &str) -> Result<Map<String, Value>, DriverError> {
    let labels = [
        (names::COMPONENT_LABEL, names::COMPONENT_VALUE),
        (names::ROLE_LABEL, names::PLUGIN),
        (names::PLUGIN_LABEL, definition.name.as_str()),
        (names::SESSION_LABEL, session),
        (names::TIER_LABEL, names::TIER_VALUE),
    ];
    if let Some((label, value)) = labels.iter().find(|(_, value)| value.len() > MAX_LABEL) {
        return Err(DriverError::LabelTooLong { label, value: (*value).to_owned(), length: value.len() });
    }
    Ok(labels.into_iter().map(|(label, value)| (label.to_owned(), json!(value))).collect())
}

/// Returns the metadata of a pod or DaemonSet.
pub(super) fn metadata(
    stage: &Stage,
    definition: &Definition,
    session: &str,
    name: String,
) -> Result<Value, DriverError> {
    let mut annotations = custom_annotations(stage);
    // Plumbline's own annotations take precedence, because other programs find plugins by them.
    annotations.insert(names::DRIVER_ANNOTATION.to_owned(), json!(definition.driver.as_str()));
    annotations.insert(names::PLUGIN_LABEL.to_owned(), json!(definition.name));
    if definition.skip_cleanup {
        annotations.insert(SKIP_CLEANUP_ANNOTATION.to_owned(), json!("true"));
    }
    let mut metadata = json!({
        "name": name,
        "namespace": stage.namespace,
        "labels": labels(definition, session)?,
        "annotations": annotations,
    });
    own(stage, &mut metadata);
    Ok(metadata)
}

pub(super) fn custom_annotations(stage: &Stage) -> Map<String, Value> {
    stage.custom_annotations.iter().map(|(key, value)| (key.clone(), json!(value))).collect()
}

/// Adds the owner reference. It is not marked as the controller, which would count or replace the
/// objects.
pub(super) fn own(stage: &Stage, metadata: &mut Value) {
    if let (Some(owner), Value::Object(metadata)) = (&stage.owner, metadata) {
        let reference = json!([{"apiVersion": "v1", "kind": "Pod", "name": owner.name, "uid": owner.uid}]);
        metadata.insert("ownerReferences".to_owned(), reference);
    }
}
