//! Cleanup of plugins.

use plumbline_aggregator::Dispatcher as _;
use serde_json::{Value, json};

use super::bed::{Bed, OWNER, refusal, session};
use super::samples::{DAEMON_SET, FULL, JOB};

/// Returns a pod that looks like a plugin's.
fn pod(name: &str, session: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "checks", "ownerReferences": [owner],
            "labels": {"component": "sonobuoy", "sonobuoy-component": "plugin", "sonobuoy-plugin": "p", "sonobuoy-run": session},
        },
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    })
}

#[tokio::test]
async fn everything_goes_but_what_a_definition_keeps_and_what_is_not_ours() {
    let bed = Bed::new().await;
    for yaml in [JOB, DAEMON_SET, FULL] {
        bed.launch(yaml).await.unwrap();
    }
    let aggregator = json!({"apiVersion": "v1", "kind": "Pod", "name": "sonobuoy", "uid": OWNER});
    let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "sonobuoy", "uid": "another"});
    let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true});
    bed.double.put("pods", pod("earlier-life", "feed", &aggregator));
    bed.double.put("pods", pod("another-run", "beef", &other));
    bed.double.put("pods", pod("of-the-set", &session("each"), &set));

    bed.dispatcher.cleanup().await.unwrap();
    let kept = format!("sonobuoy-full-job-{}", session("full"));
    assert_eq!(bed.names("pods"), ["another-run".to_owned(), "of-the-set".to_owned(), kept]);
    assert!(bed.names("daemonsets").is_empty());
    assert!(bed.names("secrets").is_empty(), "nobody accepts the certificates any more");

    let body = |resource| -> Value { serde_json::from_slice(&bed.asked("DELETE", resource)[0].body).unwrap() };
    assert_eq!(body("pods")["gracePeriodSeconds"], 60);
    assert_eq!(body("pods")["propagationPolicy"], "Background");
    assert_eq!(body("daemonsets")["gracePeriodSeconds"], 1);
    bed.dispatcher.cleanup().await.unwrap();
}

#[tokio::test]
async fn a_restarted_aggregator_removes_what_it_launched_before_and_keeps_what_is_to_stay() {
    let bed = Bed::new().await;
    bed.launch(JOB).await.unwrap();
    bed.launch(FULL).await.unwrap();
    // Both plugins were complete before the restart, so neither is launched again.
    let bed = bed.restart().await;
    bed.dispatcher.cleanup().await.unwrap();
    assert_eq!(bed.names("pods"), [format!("sonobuoy-full-job-{}", session("full"))]);
    assert!(bed.names("secrets").is_empty(), "nobody accepts the certificates any more");
}

#[tokio::test]
async fn another_pod_of_the_run_removes_what_an_earlier_one_launched() {
    let bed = Bed::new().await;
    for yaml in [JOB, DAEMON_SET, FULL] {
        bed.launch(yaml).await.unwrap();
    }
    let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "sonobuoy", "uid": "another"});
    bed.double.put("pods", pod("another-run", "beef", &other));
    // All plugins were complete before the run continued in another pod.
    let bed = bed.in_another_pod().await;
    bed.dispatcher.cleanup().await.unwrap();
    let kept = format!("sonobuoy-full-job-{}", session("full"));
    assert_eq!(bed.names("pods"), ["another-run".to_owned(), kept]);
    assert!(bed.names("daemonsets").is_empty());
}

#[tokio::test]
async fn a_launch_that_failed_for_good_leaves_only_what_is_to_stay() {
    let bed = Bed::new().await;
    for yaml in [JOB, DAEMON_SET, FULL] {
        bed.launch(yaml).await.unwrap();
    }
    // An aggregator that restarts cannot launch these plugins again.
    let bed = bed.restart().await;
    let message = "secrets is forbidden: User \"u\" cannot create resource \"secrets\" in API group \"\" in the namespace \"checks\"";
    bed.fault("POST", "/secrets", refusal(403, message), 3);
    for yaml in [JOB, DAEMON_SET, FULL] {
        assert!(!bed.launch(yaml).await.unwrap_err().is_temporary);
    }
    assert_eq!((bed.names("pods").len(), bed.names("daemonsets").len()), (2, 1));
    bed.abandon(JOB).await;
    assert_eq!((bed.names("pods").len(), bed.names("daemonsets").len()), (1, 1), "other plugins go on");
    bed.abandon(DAEMON_SET).await;
    bed.abandon(FULL).await;
    assert_eq!(bed.names("pods"), [format!("sonobuoy-full-job-{}", session("full"))]);
    assert!(bed.names("daemonsets").is_empty());
}

#[tokio::test]
async fn an_object_that_cannot_be_removed_is_reported_and_the_rest_is_removed() {
    let bed = Bed::new().await;
    bed.launch(JOB).await.unwrap();
    bed.launch(DAEMON_SET).await.unwrap();
    let message = "daemonsets.apps is forbidden: User \"u\" cannot delete resource \"daemonsets\" in API group \"apps\" in the namespace \"checks\"";
    bed.fault("DELETE", "/daemonsets", refusal(403, message), 1);
    bed.fault("DELETE", "/pods", refusal(500, "etcd is away"), 1);
    let error = bed.dispatcher.cleanup().await.unwrap_err();
    assert!(error.message.contains("failed to delete DaemonSet `sonobuoy-each-daemon-set-"), "{error}");
    assert!(error.message.contains("permission to `delete`"), "{error}");
    assert!(bed.names("pods").is_empty() && bed.names("secrets").is_empty());
    bed.dispatcher.cleanup().await.unwrap();
    assert!(bed.names("daemonsets").is_empty());
}

#[tokio::test]
async fn a_conflict_does_not_leave_an_object() {
    let bed = Bed::new().await;
    bed.launch(DAEMON_SET).await.unwrap();
    let message = "the object has been modified; please apply your changes to the latest version";
    bed.fault("DELETE", "/daemonsets", refusal(409, message), 1);
    bed.dispatcher.cleanup().await.unwrap();
    assert!(bed.names("daemonsets").is_empty());
}
