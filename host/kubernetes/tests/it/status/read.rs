//! Reads the status once: which pod is used, and each error.

use plumbline_kubernetes::names;
use plumbline_kubernetes::status::{StatusError, read};
use serde_json::json;

use super::bed::{Bed, NAMESPACE, POD, aggregator, plugin_pod};

const RUNNING: &str = r#"{"status":"running","plugins":[{"plugin":"logs","node":"n1","status":"running"}]}"#;

#[tokio::test]
async fn an_active_run_is_read_with_the_waiting_pods() {
    let bed = Bed::empty().await;
    bed.double.put("pods", aggregator("Running", Some(RUNNING)));
    bed.double.put("pods", plugin_pod("logs-1", "logs", "n1", Some("ImagePullBackOff")));
    bed.double.put("pods", plugin_pod("logs-2", "logs", "n2", None));
    let seen = read(&bed.cluster, NAMESPACE).await.unwrap();
    assert_eq!((seen.pod.as_str(), seen.status.plugins.unwrap().len()), (POD, 1));
    assert_eq!(seen.waiting.len(), 1);
    assert_eq!(seen.waiting[0].node.as_deref(), Some("n1"));
}

#[tokio::test]
async fn pods_of_other_versions_are_found_too() {
    for labels in [json!({"run": "sonobuoy-master"}), json!({})] {
        let bed = Bed::empty().await;
        let mut pod = aggregator("Running", Some(RUNNING));
        pod["metadata"]["labels"] = labels.clone();
        bed.double.put("pods", pod);
        assert!(read(&bed.cluster, NAMESPACE).await.is_ok(), "{labels}");
    }
    let bed = Bed::empty().await;
    let mut pod = aggregator("Running", None);
    pod["metadata"]["annotations"] = json!({names::STATUS_ANNOTATION_ALIAS: RUNNING});
    bed.double.put("pods", pod);
    assert!(read(&bed.cluster, NAMESPACE).await.is_ok(), "the other key");
}

#[tokio::test]
async fn each_failure_is_its_own() {
    let bed = Bed::empty().await;
    assert!(matches!(read(&bed.cluster, "nowhere").await, Err(StatusError::NoNamespace { .. })));
    assert!(matches!(read(&bed.cluster, NAMESPACE).await, Err(StatusError::NoPod { .. })));
    bed.double.put("pods", aggregator("Running", None));
    assert!(matches!(read(&bed.cluster, NAMESPACE).await, Err(StatusError::NoAnnotation { .. })));
    bed.double.put("pods", aggregator("Running", Some("{\"plugins\": 7}")));
    assert!(matches!(read(&bed.cluster, NAMESPACE).await, Err(StatusError::Damaged { .. })));
    bed.double.put("pods", aggregator("Failed", Some(RUNNING)));
    assert!(matches!(read(&bed.cluster, NAMESPACE).await, Err(StatusError::PodFailed { last: Some(_), .. })));
    bed.double.put("pods", aggregator("Unknown", Some(RUNNING)));
    assert!(matches!(read(&bed.cluster, NAMESPACE).await, Err(StatusError::PodUnknown { .. })));
    bed.fault("GET", "/pods", 500, 1);
    match read(&bed.cluster, NAMESPACE).await {
        Err(StatusError::Cluster(error)) => assert_eq!(error.code, Some(500)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_pod_that_does_not_start_tells_its_events() {
    let bed = Bed::empty().await;
    bed.double.put("pods", aggregator("Pending", None));
    for (n, message) in ["Successfully assigned", "Failed to pull image"].iter().enumerate() {
        bed.double.put("events", json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("e{n}"), "namespace": NAMESPACE},
            "involvedObject": {"kind": "Pod", "name": POD, "namespace": NAMESPACE}, "reason": "R", "message": message,
            "lastTimestamp": format!("2026-11-20T13:0{n}:00Z"),
        }));
    }
    match read(&bed.cluster, NAMESPACE).await {
        Err(StatusError::Pending { events, .. }) => {
            assert_eq!(events, ["R: Successfully assigned", "R: Failed to pull image"]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn without_the_permission_to_read_namespaces_or_events_the_run_is_read() {
    let bed = Bed::empty().await;
    bed.double.put("pods", aggregator("Running", Some(RUNNING)));
    bed.fault("GET", "/api/v1/namespaces/checks", 403, 1);
    assert!(read(&bed.cluster, NAMESPACE).await.is_ok());
    bed.double.put("pods", aggregator("Pending", None));
    bed.fault("GET", "/events", 403, 1);
    assert!(matches!(read(&bed.cluster, NAMESPACE).await, Err(StatusError::Pending { .. })));
}
