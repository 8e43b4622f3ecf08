//! A server for each test, with a real client.

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use serde_json::{Value, json};

/// Starts a server, and connects a client with its kubeconfig.
pub(crate) async fn start() -> (ApiDouble, Client) {
    let double = ApiDouble::start().await.unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&double.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    (double, client)
}

/// Returns a pod with one container `c` in the namespace `ns`.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running"}
    })
}

/// Returns a fault for this number of requests.
pub(crate) fn fault(path_contains: &str, kind: FaultKind, times: u32) -> Fault {
    Fault { method: None, path_contains: path_contains.into(), kind, times }
}

/// Returns the code and the reason of a rejected request.
pub(crate) fn refusal<T>(result: Result<T, kube::Error>) -> (u16, String) {
    match result.err().expect("the server refuses") {
        kube::Error::Api(status) => (status.code, status.reason),
        other => panic!("not an answer of the server: {other}"),
    }
}
