//! The worker that a plugin's pod would run. Its identity and the aggregator's URL come from the
//! pod's environment.

use k8s_openapi::ByteString;
use plumbline_core::ResultKey;
use plumbline_kubernetes::names;
use plumbline_phonehome::ClientConfig;
use serde_json::Value;

use crate::Result;

/// The worker of a pod, of Plumbline or Sonobuoy: both have the same variables.
pub(crate) struct PodWorker {
    pub(crate) config: ClientConfig,
    pub(crate) key: ResultKey,
}

impl PodWorker {
    /// Reads the environment of `pod` on `node`, as a kubelet sets it. `secret` is the Secret that
    /// [`secret_of`] returns.
    pub(crate) fn of_pod(pod: &Value, node: &str, secret: &Value) -> Result<Self> {
        let environment = Environment { pod, node, secret };
        let config = ClientConfig {
            aggregator_url: environment.get("AGGREGATOR_URL")?,
            ca_cert: environment.get("CA_CERT")?,
            client_cert: environment.get("CLIENT_CERT")?,
            client_key: environment.get("CLIENT_KEY")?,
        };
        let key = ResultKey::new(environment.get("RESULT_TYPE")?.parse()?, environment.get("NODE_NAME")?.parse()?);
        Ok(Self { config, key })
    }
}

/// Returns the name of the Secret with the worker's certificate.
pub(crate) fn secret_of(pod: &Value) -> Result<&str> {
    let name = variable(pod, "CLIENT_KEY")?.pointer("/valueFrom/secretKeyRef/name").and_then(Value::as_str);
    name.ok_or_else(|| "the worker's certificate is in no Secret".into())
}

fn variable<'a>(pod: &'a Value, name: &str) -> Result<&'a Value> {
    ["/spec/containers", "/spec/initContainers"]
        .iter()
        .filter_map(|containers| pod.pointer(containers)?.as_array())
        .flatten()
        .find(|container| is(container, names::WORKER_CONTAINER))
        .and_then(|container| container.get("env")?.as_array()?.iter().find(|variable| is(variable, name)))
        .ok_or_else(|| format!("the pod has no worker with a variable `{name}`").into())
}

struct Environment<'a> {
    pod: &'a Value,
    node: &'a str,
    secret: &'a Value,
}

impl Environment<'_> {
    fn get(&self, name: &str) -> Result<String> {
        let found = variable(self.pod, name)?;
        if let Some(value) = found.get("value").and_then(Value::as_str) {
            return Ok(value.to_owned());
        }
        let text = |path: &str| found.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if text("/valueFrom/fieldRef/fieldPath") == "spec.nodeName" {
            return Ok(self.node.to_owned());
        }
        let key = text("/valueFrom/secretKeyRef/key");
        let encoded = self.secret.get("data").and_then(|data| data.get(key)).cloned().unwrap_or_default();
        let ByteString(bytes) = serde_json::from_value(encoded)?;
        Ok(String::from_utf8(bytes)?)
    }
}

fn is(object: &Value, name: &str) -> bool {
    object.get("name").and_then(Value::as_str) == Some(name)
}
