//! Small objects: the namespace, the service account, Secrets.

use k8s_openapi::ByteString;
use plumbline_core::Config;
use serde_json::{Map, Value, json};

use super::options::DockerConfig;
use crate::names;

/// `component: sonobuoy`, by which everything of a run is found.
pub(super) fn labels() -> Value {
    json!({(names::COMPONENT_LABEL): names::COMPONENT_VALUE})
}

/// The run's namespace. It says that it was made for a run: only such a namespace is deleted with the run, whatever else is called
/// `sonobuoy`. The level of Pod Security is `privileged` unless it is configured, because built-in plugins look at the host; with plugins
/// that need no more, `restricted` works, for the aggregator and the workers do.
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

/// The account of plugins that ask for no permissions. No pod of it gets a token, whatever its pod spec leaves out.
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

/// Sonobuoy encodes the key twice and leaves the namespace out, so that no plugin can use it: not so here.
pub(super) fn ssh_key(config: &Config, key: &[u8]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "ssh-key", "namespace": config.namespace, "labels": labels()},
        "type": "Opaque",
        "data": {"id_rsa": base64(key)},
    })
}

/// Bytes as Kubernetes writes them in JSON.
pub(super) fn base64(bytes: &[u8]) -> Value {
    json!(ByteString(bytes.to_vec()))
}

/// Sets a key of an object; nothing for a value that is none.
pub(super) fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}
