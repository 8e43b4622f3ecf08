//! What a node reads and sends for a check: kwok starts no containers, so no simulated node runs it.

use bytes::Bytes;
use http::header::ACCEPT;
use kube::Client;
use kube::client::Body;
use plumbline_kubernetes::names;
use serde_json::{Value, json};

use crate::Result;

/// The number of items of each node.
const ITEMS: usize = 30;
/// The encoding that kubelets request.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// What kubelets read for a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckReads {
    /// Number of requests to the API server.
    pub requests: u64,
    /// Total size of the decompressed responses in bytes.
    pub bytes: u64,
}

impl CheckReads {
    pub(super) fn add(&mut self, more: Self) {
        self.requests += more.requests;
        self.bytes += more.bytes;
    }
}

/// Returns the items of a check on one node. All have passed.
pub(super) fn items() -> Bytes {
    let line = |number| json!({"depth": 0, "name": format!("setting {number}"), "status": "passed"}).to_string() + "\n";
    Bytes::from((0..ITEMS).map(line).collect::<String>())
}

/// Returns the names of the ConfigMaps with the check of a pod. A pod without a check has none.
pub(super) fn config_maps(pod: &Value) -> Vec<String> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array).into_iter().flatten();
    let maps = volumes.flat_map(|volume| {
        let sources = volume.pointer("/projected/sources").and_then(Value::as_array).into_iter().flatten();
        sources.chain([volume]).filter_map(|source| source.pointer("/configMap/name")?.as_str())
    });
    maps.filter(|name| name.starts_with(names::CHECK_CONFIG_MAP)).map(str::to_owned).collect()
}

/// Reads ConfigMaps as a kubelet does that starts a pod.
pub(super) async fn read(client: &Client, maps: &[String]) -> Result<CheckReads> {
    let mut read = CheckReads::default();
    for name in maps {
        let namespace = names::DEFAULT_NAMESPACE;
        let of_one = format!("fieldSelector=metadata.name%3D{name}&resourceVersion=0");
        let path = format!("/api/v1/namespaces/{namespace}/configmaps?{of_one}");
        let request = http::Request::get(path).header(ACCEPT, PROTOBUF).body(Body::empty())?;
        let response = client.send(request).await?;
        let status = response.status();
        let bytes = response.into_body().collect_bytes().await?.len() as u64;
        if !status.is_success() {
            return Err(format!("the API server answers {status} to the request for ConfigMap `{name}`").into());
        }
        read.add(CheckReads { requests: 1, bytes });
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_config_maps_of_a_check_are_read() {
        let projected = json!({"projected": {"sources": [
            {"configMap": {"name": "plumbline-check-a-0"}}, {"configMap": {"name": "plumbline-check-a-code-b-0"}},
        ]}});
        let volumes = [
            projected,
            json!({"configMap": {"name": "plumbline-check-c-0"}}),
            json!({"emptyDir": {}}),
            json!({"configMap": {"name": "settings"}}),
        ];
        let pod = json!({"spec": {"volumes": volumes}});
        assert_eq!(config_maps(&pod), ["plumbline-check-a-0", "plumbline-check-a-code-b-0", "plumbline-check-c-0"]);
        assert!(config_maps(&json!({"spec": {}})).is_empty());
    }

    #[test]
    fn a_result_has_thirty_items() {
        let items = items();
        let lines: Vec<Value> =
            std::str::from_utf8(&items).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() == ITEMS && lines.iter().all(|item| item["status"] == "passed"), "{lines:?}");
    }
}
