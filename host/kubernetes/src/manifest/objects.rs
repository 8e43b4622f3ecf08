//! Small objects: the namespace, service accounts and Secrets.

use k8s_openapi::ByteString;
use plumbline_core::Config;
use serde_json::{Map, Value, json};

use super::options::DockerConfig;
use crate::names;

/// Returns the label `component: sonobuoy`, by which all objects of a run are found.
pub(super) fn labels() -> Value {
    json!({(names::COMPONENT_LABEL): names::COMPONENT_VALUE})
}

/// Returns the run's namespace, with a label that marks it as created for a run.
///
/// Only such a namespace is deleted with the run, whatever its name. The default Pod Security level
/// is `privileged`, because built-in plugins inspect the host. The aggregator and the workers also
/// run under `restricted`, which works if no plugin needs more.
pub(super) fn namespace(config: &Config) -> Value {
    let own = &config.plumbline;
    let mut labels: Map<String, Value> = own.namespace_labels.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    labels.insert(names::COMPONENT_LABEL.to_owned(), json!(names::COMPONENT_VALUE));
    labels.insert(names::OWNED_LABEL.to_owned(), json!("true"));
    labels.insert("pod-security.kubernetes.io/enforce".to_owned(), json!(config.namespace_psa_enforce_level));
    let mut metadata = json!({"name": config.namespace, "labels": labels});
    if !own.namespace_annotations.is_empty() {
        put(&mut metadata, "annotations", json!(own.namespace_annotations));
    }
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

pub(super) fn service_account(config: &Config, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": config.namespace, "labels": labels()},
    })
}

/// Returns the account of plugins without permissions. Its pods get no token, whatever their pod
/// spec says.
pub(super) fn plugin_account(config: &Config, name: &str) -> Value {
    let mut account = service_account(config, name);
    put(&mut account, "automountServiceAccountToken", json!(false));
    account
}

pub(super) fn docker_config(config: &Config, docker: &DockerConfig) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": docker.name, "namespace": config.namespace, "labels": labels()},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64(&docker.json)},
    })
}

/// Returns the Secret with the SSH key.
///
/// Sonobuoy encodes the key twice and omits the namespace, so that no plugin can use it. This
/// Secret is usable.
pub(super) fn ssh_key(config: &Config, key: &[u8]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "ssh-key", "namespace": config.namespace, "labels": labels()},
        "type": "Opaque",
        "data": {"id_rsa": base64(key)},
    })
}

/// Encodes bytes as Kubernetes does in JSON.
pub(super) fn base64(bytes: &[u8]) -> Value {
    json!(ByteString(bytes.to_vec()))
}

/// Sets a key of an object. Does nothing if the value is not an object.
pub(super) fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}
