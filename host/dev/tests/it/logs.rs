//! Tests of container logs.

use futures_util::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use serde_json::json;

use crate::harness::{pod, refusal, start};

#[tokio::test]
async fn a_log_is_read_in_parts() {
    let (double, client) = start().await;
    double.put("pods", pod("p"));
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    assert_eq!(pods.logs("p", &LogParams::default()).await.unwrap(), "", "nothing written yet");
    double.set_log("ns", "p", "c", "one\ntwo\nthree\n");
    double.set_previous_log("ns", "p", "c", "before\n");
    let read = async |params: LogParams| pods.logs("p", &params).await.unwrap();
    assert_eq!(read(LogParams::default()).await, "one\ntwo\nthree\n");
    assert_eq!(read(LogParams { tail_lines: Some(1), ..Default::default() }).await, "three\n");
    assert_eq!(read(LogParams { limit_bytes: Some(5), ..Default::default() }).await, "one\nt");
    assert_eq!(read(LogParams { previous: true, ..Default::default() }).await, "before\n");
    let stamped = read(LogParams { timestamps: true, tail_lines: Some(1), ..Default::default() }).await;
    let (time, line) = stamped.split_once(' ').unwrap();
    assert_eq!((line, time.ends_with('Z')), ("three\n", true), "{stamped}");
    double.append_log("ns", "p", "c", "late");
    assert_eq!(read(LogParams { tail_lines: Some(2), ..Default::default() }).await, "three\nlate\n");
}

#[tokio::test]
async fn logs_that_are_not_there_are_refused_with_the_reason() {
    let (double, client) = start().await;
    let mut two = pod("two");
    two["spec"]["containers"] = json!([{"name": "a"}, {"name": "b"}]);
    two["status"]["containerStatuses"] = json!([{"name": "a", "state": {"waiting": {"reason": "ErrImagePull"}}}]);
    double.put("pods", two);
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let error = async |pod: &str, params: LogParams| pods.logs(pod, &params).await.unwrap_err();
    let of = |container: &str| LogParams { container: Some(container.into()), ..Default::default() };
    for (error, says) in [
        (error("two", LogParams::default()).await, "choose one of: [a b]"),
        (error("two", of("a")).await, "waiting to start: ErrImagePull"),
        (error("two", of("x")).await, "not valid for pod two"),
        (error("two", LogParams { previous: true, ..of("b") }).await, "previous terminated container"),
    ] {
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(refusal(Err::<(), _>(error)).0, 400);
    }
    assert_eq!(refusal(pods.logs("gone", &LogParams::default()).await), (404, "NotFound".into()));
}

#[tokio::test]
async fn a_log_is_followed_to_its_end_or_until_it_breaks_off() {
    let (double, client) = start().await;
    double.put("pods", pod("p"));
    double.set_log("ns", "p", "c", "one\ntwo\n");
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let params = LogParams { follow: true, tail_lines: Some(1), ..Default::default() };
    let mut lines = pods.log_stream("p", &params).await.unwrap().lines();
    assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("two"));
    double.append_log("ns", "p", "c", "three");
    assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("three"));
    double.append_log("ns", "p", "c", "four");
    assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("four"));

    // The log starts again after a restart of the container.
    double.set_log("ns", "p", "c", "again\n");
    assert_eq!(lines.try_next().await.unwrap(), None);
    let mut lines = pods.log_stream("p", &params).await.unwrap().lines();
    assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("again"));
    double.drop_logs();
    assert!(lines.try_next().await.is_err());

    // When the pod is deleted, its log ends.
    let mut lines = pods.log_stream("p", &params).await.unwrap().lines();
    assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("again"));
    double.remove("pods", "ns", "p");
    assert_eq!(lines.try_next().await.unwrap(), None);
}
