//! Endings without a result: of the container, the pod, the time limit and the reporter.

use std::future::ready;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::reporter::bed::Bed;

#[tokio::test]
async fn a_crash_is_seen_by_a_watch() {
    let bed = Bed::new().await;
    bed.run_with(async {
        bed.watched().await;
        bed.ends(1, "Error");
    })
    .await;
    bed.expect("False", "AdapterExitedWithError", "Adapter container exited with code 1: Error");
}

#[tokio::test]
async fn a_crash_is_seen_with_the_promised_permissions() {
    let bed = Bed::new().await;
    bed.promised_permissions();
    bed.run_with(async {
        // The reporter reads the pod once initially, and again after the watch was rejected.
        let asks =
            |all: &[plumbline_dev::Recorded]| all.iter().filter(|one| one.path.ends_with("/pods/j-1")).count() > 2;
        bed.double.requested(asks).await;
        bed.ends(137, "OOMKilled");
    })
    .await;
    bed.expect("False", "AdapterOOMKilled", "Adapter container was killed due to out of memory (OOMKilled)");
}

#[tokio::test]
async fn interrupted_watches_are_restarted() {
    let bed = Bed::new().await;
    let watches = || bed.double.requests().iter().filter(|one| one.query.contains("watch=")).count();
    bed.run_with(async {
        let cuts: [&dyn Fn(); 2] = [&|| bed.double.drop_watches(), &|| bed.double.expire_watches()];
        for cut in cuts {
            let before = watches();
            // A watch that was only requested cannot be interrupted yet.
            while watches() <= before.max(1) {
                cut();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        bed.ends(3, "");
    })
    .await;
    bed.expect("False", "AdapterExitedWithError", "Adapter container exited with code 3: Error");
}

#[tokio::test]
async fn a_container_that_ended_well_without_a_result() {
    let bed = Bed::new().await;
    bed.ends(0, "Completed");
    bed.report().await;
    assert_eq!(bed.condition().1, "AdapterMissingResults");
}

#[tokio::test]
async fn a_result_beats_an_end_that_was_seen_first() {
    let bed = Bed::new().await;
    bed.ends(1, "Error");
    bed.write(r#"{"status":"success","reason":"Late"}"#);
    bed.report().await;
    bed.expect("True", "Late", "No message provided");
}

#[tokio::test]
async fn an_invalid_file_beats_an_end_that_was_seen_first() {
    let mut bed = Bed::new().await;
    bed.config.settle = Duration::from_secs(3600);
    bed.write("{");
    bed.run_with(async {
        bed.looked().await;
        bed.ends(1, "Error");
    })
    .await;
    let (_, reason, message) = bed.condition();
    assert_eq!(reason, "InvalidResultFormat");
    assert!(message.ends_with("(adapter container exited with code 1: Error)"), "{message}");
}

#[tokio::test]
async fn the_time_is_over() {
    let mut bed = Bed::new().await;
    bed.config.max_wait = Duration::from_secs(1);
    bed.report().await;
    bed.expect("False", "AdapterTimeout", "Adapter did not produce results within 1s");
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_named_when_the_time_is_over() {
    let mut bed = Bed::new().await;
    bed.config.max_wait = Duration::from_secs(1);
    bed.pod(json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x\""}}));
    bed.report().await;
    let message = "Adapter did not produce results within 1s (container `adapter` waits: ImagePullBackOff: Back-off pulling image \"x\")";
    bed.expect("False", "AdapterTimeout", message);
}

#[tokio::test]
async fn a_pod_that_cannot_be_read_is_reported_on_timeout() {
    let mut bed = Bed::new().await;
    bed.config.max_wait = Duration::from_secs(1);
    bed.double.deny("*", "pods");
    bed.report().await;
    let (_, reason, message) = bed.condition();
    assert_eq!(reason, "AdapterTimeout");
    assert!(message.contains("failed to read the pod") && message.contains("forbidden"), "{message}");
}

#[tokio::test]
async fn a_pod_that_is_evicted_or_deleted_says_so() {
    let bed = Bed::new().await;
    bed.run_with(async {
        bed.watched().await;
        bed.double.update("pods", "default", "j-1", |pod| {
            pod["status"] =
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
        });
    })
    .await;
    let message = "Pod was evicted before the adapter produced results: The node was low on resource: memory.";
    bed.expect("False", "AdapterEvicted", message);

    let bed = Bed::new().await;
    bed.run_with(async {
        bed.watched().await;
        bed.double.remove("pods", "default", "j-1");
    })
    .await;
    bed.expect("False", "PodDeleted", "Pod was deleted before the adapter produced results");
}

#[tokio::test]
async fn a_terminated_reporter_writes_what_it_knows() {
    let bed = Bed::new().await;
    // This happens at once, before the reporter has observed anything.
    bed.try_run_with(ready(()), async {}).await.unwrap();
    bed.expect("False", "ReporterTerminated", "Reporter was asked to stop before the adapter produced results");
}

#[tokio::test]
async fn a_terminated_reporter_still_accepts_a_result() {
    let bed = Bed::new().await;
    bed.double.update("pods", "default", "j-1", |pod| pod["spec"]["terminationGracePeriodSeconds"] = json!(30));
    let stop = CancellationToken::new();
    bed.try_run_with(stop.cancelled(), async {
        bed.looked().await;
        stop.cancel();
        bed.write(r#"{"status":"failure","reason":"Interrupted","message":"asked to end"}"#);
    })
    .await
    .unwrap();
    bed.expect("False", "Interrupted", "asked to end");
    // The result was there before the reporter could write anything else.
    assert_eq!(bed.writes().iter().filter(|one| one.path.ends_with("/status")).count(), 1);
}

/// Waits until the Job has the condition. The server records a request before it applies it, so the request alone
/// does not show that.
async fn written(bed: &Bed) {
    bed.double.changed("jobs", |jobs| jobs.iter().any(|job| job.pointer("/status/conditions/0").is_some())).await;
}

#[tokio::test]
async fn a_reporter_terminated_for_no_visible_reason_writes_before_the_last_wait() {
    let bed = Bed::new().await;
    // An eviction by the kubelet leaves a second of these 20, and the pod does not show it.
    bed.double.update("pods", "default", "j-1", |pod| pod["spec"]["terminationGracePeriodSeconds"] = json!(20));
    let stop = CancellationToken::new();
    bed.try_run_with(stop.cancelled(), async {
        bed.looked().await;
        stop.cancel();
        written(&bed).await;
        bed.expect("False", "ReporterTerminated", "Reporter was asked to stop before the adapter produced results");
        bed.write(r#"{"status":"success","reason":"Done","message":"just in time"}"#);
    })
    .await
    .unwrap();
    bed.expect("True", "Done", "just in time");
}

#[tokio::test]
async fn a_reporter_in_a_deleted_pod_writes_once() {
    let bed = Bed::new().await;
    bed.double.update("pods", "default", "j-1", |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-20T13:00:00Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(2);
        // Without one, the object would be gone at once.
        pod["metadata"]["finalizers"] = json!(["example.com/held"]);
    });
    bed.try_run_with(ready(()), async {}).await.unwrap();
    bed.expect("False", "PodDeleted", "Pod was deleted before the adapter produced results");
    assert_eq!(bed.writes().iter().filter(|one| one.path.ends_with("/status")).count(), 1);
}

/// Returns a pod that is being deleted and was created at this time. At 13:05, another pod of the
/// Job wrote a success.
async fn replaced(created: &str) -> Bed {
    let bed = Bed::new().await;
    let at = "2026-11-20T13:05:00Z";
    let success = json!([{"type": "Available", "status": "True", "reason": "Done", "message": "m",
        "lastProbeTime": at, "lastTransitionTime": at}]);
    bed.double.update("jobs", "default", "j", |job| job["status"]["conditions"] = success.clone());
    bed.double.update("pods", "default", "j-1", |pod| {
        pod["metadata"]["creationTimestamp"] = json!(created);
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-20T13:20:00Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(2);
        pod["metadata"]["finalizers"] = json!(["example.com/held"]);
    });
    bed
}

#[tokio::test]
async fn a_pod_without_a_result_leaves_the_condition_of_its_replacement() {
    // Its node was away, so it ends long after the Job has replaced it.
    let bed = replaced("2026-11-20T13:00:00Z").await;
    let reported = bed.try_run_with(ready(()), async {}).await.unwrap();
    bed.expect("True", "Done", "m");
    assert!(reported.unchanged && bed.writes().is_empty());

    // It is the replacement itself.
    let bed = replaced("2026-11-20T13:10:00Z").await;
    bed.try_run_with(ready(()), async {}).await.unwrap();
    bed.expect("False", "PodDeleted", "Pod was deleted before the adapter produced results");

    // A result counts in any pod.
    let bed = replaced("2026-11-20T13:00:00Z").await;
    bed.write(r#"{"status":"failure","reason":"Broken","message":"it is"}"#);
    bed.try_run_with(ready(()), async {}).await.unwrap();
    bed.expect("False", "Broken", "it is");
}

#[tokio::test]
async fn a_node_that_shuts_down_is_the_reason() {
    let node = |message: &str| {
        let ready = json!({"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": message});
        json!({"metadata": {"name": "n1"}, "status": {"conditions": [ready]}})
    };
    for (message, reason) in [("node is shutting down", "NodeShutdown"), ("PLEG is not healthy", "ReporterTerminated")]
    {
        let bed = Bed::new().await;
        bed.double.put("nodes", node(message));
        bed.double.update("pods", "default", "j-1", |pod| pod["spec"]["nodeName"] = json!("n1"));
        bed.try_run_with(ready(()), async {}).await.unwrap();
        assert_eq!(bed.condition().1, reason, "{message}");
    }
    // The permission is optional.
    let bed = Bed::new().await;
    bed.double.put("nodes", node("node is shutting down"));
    bed.double.deny("*", "nodes");
    bed.double.update("pods", "default", "j-1", |pod| pod["spec"]["nodeName"] = json!("n1"));
    bed.try_run_with(ready(()), async {}).await.unwrap();
    assert_eq!(bed.condition().1, "ReporterTerminated");
}
