//! Names, labels, annotations and owners of what is created for a plugin.

use plumbline_core::Driver;
use plumbline_core::definition::Definition;
use serde_json::{Map, Value, json};

use super::error::DriverError;
use super::stage::Stage;
use crate::names;

/// The name of a plugin's container whose definition gives none.
pub const DEFAULT_CONTAINER: &str = "plugin";

/// Annotation on what stays after the run, because its definition says `skip-cleanup`: a restarted aggregator, which did not create the
/// object itself, must know.
pub const SKIP_CLEANUP_ANNOTATION: &str = "plumbline.dev/skip-cleanup";

/// The longest value of a label (Kubernetes, «Labels and Selectors»).
const MAX_LABEL: usize = 63;

/// The longest name of an object (RFC 1123 subdomain).
const MAX_NAME: usize = 253;

/// The name of the plugin's own container.
#[must_use]
pub fn container_name(definition: &Definition) -> &str {
    definition.spec.name().unwrap_or(DEFAULT_CONTAINER)
}

/// The name of the pod or DaemonSet of a plugin.
///
/// # Errors
/// When it would be too long, or the driver is not one of a cluster.
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

/// The labels of everything that belongs to a plugin.
///
/// # Errors
/// When the plugin's name or the session id is too long for a label.
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

/// The metadata of a pod or DaemonSet.
pub(super) fn metadata(
    stage: &Stage,
    definition: &Definition,
    session: &str,
    name: String,
) -> Result<Value, DriverError> {
    let mut annotations = custom_annotations(stage);
    // Our own win: others find plugins by them.
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

/// Adds the owner. It is not the controller: nothing that is created is to be counted or replaced by it.
pub(super) fn own(stage: &Stage, metadata: &mut Value) {
    if let (Some(owner), Value::Object(metadata)) = (&stage.owner, metadata) {
        let reference = json!([{"apiVersion": "v1", "kind": "Pod", "name": owner.name, "uid": owner.uid}]);
        metadata.insert("ownerReferences".to_owned(), reference);
    }
}
