//! The Secret with the certificate of a plugin's workers.

use k8s_openapi::ByteString;
use plumbline_aggregator::WorkerAccess;
use plumbline_core::definition::Definition;
use serde_json::{Value, json};

use super::error::DriverError;
use super::naming::{labels, own, secret_name};
use super::stage::Stage;

/// The key of the certificate.
pub(super) const CERTIFICATE: &str = "tls.crt";
/// The key of its private key: SEC1, the only form that other workers read.
pub(super) const KEY: &str = "tls.key";

/// The Secret with certificate and key of a plugin's workers. It has the labels of the plugin, so that a restarted aggregator can tell
/// that it is its own.
///
/// # Errors
/// When names or labels made of the plugin's name would be too long.
pub fn secret(
    stage: &Stage,
    definition: &Definition,
    session: &str,
    access: &WorkerAccess,
) -> Result<Value, DriverError> {
    let encoded = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
    let mut metadata = json!({
        "name": secret_name(definition, session)?,
        "namespace": stage.namespace,
        "labels": labels(definition, session)?,
    });
    own(stage, &mut metadata);
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "kubernetes.io/tls",
        "data": {CERTIFICATE: encoded(&access.client_cert), KEY: encoded(&access.client_key)},
    }))
}
