//! The Secret with the certificates of all workers of a run.
//!
//! There is one Secret with a constant name, so that the aggregator's role can name it. The kubelet
//! gives a pod only the keys to which the pod refers.

use k8s_openapi::ByteString;
use plumbline_aggregator::WorkerAccess;
use plumbline_core::definition::Definition;
use plumbline_core::{PluginName, RunId};
use serde_json::{Value, json};

use super::naming::own;
use super::stage::Stage;
use crate::names;

/// Returns the key of a plugin's certificate.
pub(super) fn certificate_key(plugin: &PluginName) -> String {
    format!("{plugin}.crt")
}

/// Returns the key of a plugin's private key. It is in SEC1 format, the only one that Sonobuoy's
/// workers read.
pub(super) fn private_key_key(plugin: &PluginName) -> String {
    format!("{plugin}.key")
}

/// Returns the run's Secret with the certificate and private key of one plugin's workers.
#[must_use]
pub fn secret(stage: &Stage, definition: &Definition, run: &RunId, access: &WorkerAccess) -> Value {
    let encoded = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
    let plugin = &definition.name;
    let mut metadata = json!({
        "name": names::CERTIFICATES_SECRET,
        "namespace": stage.namespace,
        "labels": {names::COMPONENT_LABEL: names::COMPONENT_VALUE},
        "annotations": {names::RUN_ANNOTATION: run.to_string()},
    });
    own(stage, &mut metadata);
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "data": {
            certificate_key(plugin): encoded(&access.client_cert),
            private_key_key(plugin): encoded(&access.client_key),
        },
    })
}
