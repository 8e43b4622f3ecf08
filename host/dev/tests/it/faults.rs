//! Tests of faults and of recorded requests.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use serde_json::json;

use crate::harness::{fault, start};

#[tokio::test]
async fn faults_strike_and_are_over() {
    let (double, client) = start().await;
    let nodes: Api<Node> = Api::all(client);
    let list = async || nodes.list(&ListParams::default()).await;
    // The client itself retries some codes. The tests of retries cover those.
    let refused = FaultKind::Status { code: 418, message: "no coffee".into(), retry_after: Some(3) };
    double.fault(fault("/nodes", refused, 1));
    let error = list().await.unwrap_err();
    let kube::Error::Api(status) = &error else { panic!("{error}") };
    assert_eq!((status.code, status.message.as_str()), (418, "no coffee"));
    assert_eq!(status.details.as_ref().unwrap().retry_after_seconds, 3);

    double.fault(fault("/nodes", FaultKind::Stall(Duration::from_millis(1)), 1));
    assert!(list().await.is_ok());
    double.fault(Fault { method: Some("POST"), ..fault("/nodes", FaultKind::Reset, 1) });
    assert!(list().await.is_ok(), "ordered for another method");
    let codes: Vec<_> = double.requests().iter().map(|request| request.status).collect();
    assert_eq!(codes, [418, 200, 200]);
}

#[tokio::test]
async fn a_reset_closes_the_connection_without_an_answer() {
    let (double, _) = start().await;
    double.fault(fault("/version", FaultKind::Reset, 1));
    let ask = async || {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = double.url().replace("http://", "");
        let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
        connection.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    };
    assert_eq!(ask().await, "");
    assert!(ask().await.starts_with("HTTP/1.1 200"));
    let codes: Vec<_> = double.requests().iter().map(|request| request.status).collect();
    assert_eq!(codes, [0, 200]);
}

#[tokio::test]
async fn requests_are_recorded_whole() {
    let (double, client) = start().await;
    double.put("configmaps", json!({"metadata": {"name": "m"}}));
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    maps.patch("m", &PatchParams { dry_run: true, ..Default::default() }, &patch).await.unwrap();
    let recorded = double.requests().remove(0);
    assert_eq!(recorded.method, "PATCH");
    assert_eq!(recorded.path, "/api/v1/namespaces/default/configmaps/m");
    assert!(recorded.query.contains("dryRun=All"), "{}", recorded.query);
    assert_eq!(recorded.content_type, "application/merge-patch+json");
    assert_eq!(recorded.body, br#"{"data":{"k":"v"}}"#);
    assert_eq!(double.get("configmaps", "default", "m").unwrap().get("data"), None, "it was not meant");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let (double, client) = start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let patch = Patch::Merge(json!({"data": {"k": "x".repeat(4 << 20)}}));
    assert!(maps.patch("m", &PatchParams::default(), &patch).await.is_err());
    assert!(double.requests().iter().all(|request| request.status == 413));
}

#[tokio::test]
async fn waiting_for_a_change_ends_with_it_and_the_server_with_its_owner() {
    let double = ApiDouble::start().await.unwrap();
    let writer = double.clone();
    let (seen, ()) = tokio::join!(double.changed("nodes", |nodes| nodes.len() == 2), async move {
        writer.put("nodes", json!({"metadata": {"name": "a"}}));
        tokio::task::yield_now().await;
        writer.put("nodes", json!({"metadata": {"name": "b"}}));
    });
    assert_eq!(seen[1]["metadata"]["name"], "b");

    let address = double.url().replace("http://", "");
    assert!(tokio::net::TcpStream::connect(&address).await.is_ok());
    drop(double);
    let closed = async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), closed).await.is_ok(), "it still listens");
}
