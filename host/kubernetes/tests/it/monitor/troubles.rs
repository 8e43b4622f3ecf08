//! Each problem leads to a missing result with an explanation.

use plumbline_aggregator::Report;
use serde_json::{Value, json};

use super::bed::{Bed, double, ended, graces, pod, pulling, running, watched};

const GRACE: u64 = 300;

/// Starts a monitor of one plugin on node `w1` with this pod.
async fn with_pod(pod: Value) -> Bed {
    let double = double(&["w1"]).await;
    double.put("pods", pod);
    let bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&["w1"])).await;
    bed
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_reported_with_pod_events_and_logs() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", pulling()));
    let uid = double.get("pods", "ns", "scan-x").unwrap()["metadata"]["uid"].clone();
    let event = |name: &str, uid: &Value, time: &str| {
        json!({"metadata": {"name": name, "namespace": "ns"}, "involvedObject": {"kind": "Pod", "name": "scan-x", "uid": uid},
            "type": "Warning", "reason": "Failed", "message": name, "lastTimestamp": time})
    };
    double.put("events", event("second", &uid, "2026-01-01T00:00:02Z"));
    double.put("events", event("first", &uid, "2026-01-01T00:00:01Z"));
    double.put("events", event("of-another-life", &json!("other"), "2026-01-01T00:00:03Z"));
    double.set_log("ns", "scan-x", "sonobuoy-worker", "worker started\nwaiting\n");
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&["w1"])).await;

    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/w1");
    for part in ["example.org/scan:1", "`main`", "`scan-x`", "`w1`", "ImagePullBackOff", "not found"] {
        assert!(error.error.contains(part), "{part}: {}", error.error);
    }
    assert_eq!((&error.details["reason"], &error.details["node"]), (&json!("ImagePull"), &json!("w1")));
    assert_eq!(error.details["pod"]["status"]["containerStatuses"][0]["state"], pulling());
    assert_eq!(error.details["pod"]["metadata"].get("managedFields"), None);
    let events: Vec<&str> =
        error.details["events"].as_array().unwrap().iter().filter_map(|event| event["message"].as_str()).collect();
    assert_eq!(events, ["first", "second"]);
    assert_eq!(error.details["logs"], json!({"sonobuoy-worker": {"last": "worker started\nwaiting\n"}}));
    assert_eq!(error.details.get("notGathered"), None);

    bed.settle(&["w1"]).await;
    let log = bed.log("scan-x", "sonobuoy-worker.txt");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "worker started\nwaiting\n");
    // The container that never ran has no log.
    assert!(!bed.log("scan-x", "main.txt").exists());
    assert!(bed.is_silent());
}

#[tokio::test]
async fn a_volume_that_cannot_be_mounted_is_reported_and_an_image_that_is_being_pulled_is_waited_for() {
    let double = double(&["w1"]).await;
    let creating = json!({"waiting": {"reason": "ContainerCreating"}});
    let mut starting = pod("scan-x", "w1", creating.clone());
    starting["status"]["containerStatuses"][1]["state"] = creating;
    double.put("pods", starting);
    let uid = double.get("pods", "ns", "scan-x").unwrap()["metadata"]["uid"].clone();
    let event = |name: &str, kind: &str, reason: &str, message: &str, time: &str| {
        json!({"metadata": {"name": name, "namespace": "ns"}, "involvedObject": {"kind": "Pod", "name": "scan-x", "uid": uid},
            "type": kind, "reason": reason, "message": message, "lastTimestamp": time})
    };
    double.put("events", event("a", "Normal", "Pulling", "Pulling image", "2026-01-01T00:00:01Z"));
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&["w1"])).await;
    // The pod was checked, and the image pull was still in progress.
    bed.asked(&["/namespaces/ns/events"]).await;
    assert!(bed.is_silent());

    let message = "MountVolume.SetUp failed for volume \"c\" : configmap \"settings\" not found, timeout";
    bed.double.put("events", event("b", "Warning", "FailedMount", message, "2026-01-01T00:00:02Z"));
    let (key, error) = bed.failed().await;
    assert_eq!((key.as_str(), &error.details["reason"]), ("scan/w1", &json!("Starting")));
    for part in
        ["`main`", "`scan-x`", "ContainerCreating", "FailedMount: MountVolume.SetUp failed", "\"settings\" not found"]
    {
        assert!(error.error.contains(part), "{part}: {}", error.error);
    }
    assert!(!error.is_timeout(), "{}", error.error);
    assert_eq!(error.details["events"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_eviction_is_reported_with_the_message_of_the_cluster() {
    let mut evicted = pod("scan-x", "w1", running());
    evicted["status"] =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
    let mut bed = with_pod(evicted).await;
    let (_, error) = bed.failed().await;
    assert!(error.error.contains("Evicted: The node was low on resource: memory."), "{}", error.error);
}

#[tokio::test]
async fn a_deleted_pod_is_reported_with_its_last_state() {
    let mut bed = with_pod(pod("scan-x", "w1", running())).await;
    bed.asked(&["/pods", "watch=true"]).await;
    bed.double.remove("pods", "ns", "scan-x");
    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/w1");
    assert!(error.error.contains("`scan-x` on node `w1` was deleted"), "{}", error.error);
    assert_eq!(error.details["pod"]["spec"]["containers"][0]["image"], "example.org/scan:1");
}

#[tokio::test]
async fn a_pod_that_is_replaced_in_time_is_not_a_problem() {
    let double = double(&["w1", "w2"]).await;
    double.put("pods", pod("scan-1", "w1", running()));
    double.put("pods", pod("scan-2", "w2", running()));
    let mut bed = Bed::new(double, graces(3000)).await;
    bed.watch(watched(&["w1", "w2"])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    bed.double.remove("pods", "ns", "scan-1");
    bed.double.put("pods", pod("scan-1b", "w1", running()));
    bed.double.remove("pods", "ns", "scan-2");
    // If the first one were reported, it would come before this.
    assert_eq!(bed.failed().await.0, "scan/w2");
    assert!(bed.is_silent());
}

#[tokio::test]
async fn a_node_that_is_removed_ends_what_ran_on_it() {
    let mut bed = with_pod(pod("scan-x", "w1", running())).await;
    bed.asked(&["/nodes", "watch=true"]).await;
    bed.double.remove("nodes", "", "w1");
    let (key, error) = bed.failed().await;
    assert_eq!((key.as_str(), &error.details["reason"]), ("scan/w1", &json!("NodeGone")));
    assert!(error.error.contains("node `w1` was removed"), "{}", error.error);
    assert_eq!(error.details["pod"]["metadata"]["name"], "scan-x");
}

#[tokio::test]
async fn the_scheduler_says_why_the_pod_of_a_job_has_no_node() {
    let double = double(&["w1"]).await;
    let mut pending = pod("scan-job", "", running());
    pending["spec"]["nodeName"] = Value::Null;
    pending["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient memory."}]});
    double.put("pods", pending);
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&[])).await;
    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/global");
    assert!(error.error.contains("could not be scheduled for 300ms: 0/1 nodes are available"), "{}", error.error);
}

#[tokio::test]
async fn a_crash_loop_is_reported_with_the_log_of_the_previous_start() {
    let double = double(&["w1"]).await;
    let mut looping = pod("scan-x", "w1", json!({"waiting": {"reason": "CrashLoopBackOff"}}));
    looping["status"]["containerStatuses"][0]["restartCount"] = json!(4);
    looping["status"]["containerStatuses"][0]["lastState"] = ended(2, "Error");
    double.put("pods", looping);
    double.set_log("ns", "scan-x", "main", "now\n");
    double.set_previous_log("ns", "scan-x", "main", "panic: before\n");
    double.set_log("ns", "scan-x", "sonobuoy-worker", "worker started\n");
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&["w1"])).await;
    let (_, error) = bed.failed().await;
    assert!(error.error.contains("restarted 4 times; the last time it ended with exit code 2"), "{}", error.error);
    assert_eq!(error.details["logs"]["main"], json!({"last": "now\n", "previous": "panic: before\n"}));
    bed.settle(&["w1"]).await;
    assert_eq!(std::fs::read_to_string(bed.log("scan-x", "main.previous.txt")).unwrap(), "panic: before\n");
}

#[tokio::test]
async fn a_plugin_that_ends_without_a_result_says_how() {
    for (state, expected) in [
        (ended(0, "Completed"), "finished without results"),
        (ended(3, "Error"), "ended with exit code 3 and left no results"),
        (ended(137, "OOMKilled"), "ran out of memory"),
    ] {
        let mut bed = with_pod(pod("scan-x", "w1", state)).await;
        let (_, error) = bed.failed().await;
        assert!(error.error.contains(expected), "{}", error.error);
        assert_eq!(error.details["reason"], "NoResult");
    }
}

#[tokio::test]
async fn a_node_that_gets_no_pod_is_reported_with_its_taints() {
    let double = double(&["w2"]).await;
    let mut tainted = super::bed::node("w1");
    tainted["spec"] = json!({"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]});
    double.put("nodes", tainted);
    double.put("pods", pod("scan-2", "w2", running()));
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&["w1", "w2"])).await;
    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/w1");
    assert!(error.error.contains("dedicated=db:NoSchedule"), "{}", error.error);
    assert!(bed.is_silent());
}

#[tokio::test]
async fn a_daemon_set_whose_pods_are_rejected_says_why() {
    let double = double(&["w1"]).await;
    let message =
        "Error creating: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": host namespaces";
    double.put(
        "events",
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "rejected", "namespace": "ns"}, "type": "Warning",
            "reason": "FailedCreate", "message": message, "lastTimestamp": "2026-01-01T00:00:01Z",
            "involvedObject": {"kind": "DaemonSet", "namespace": "ns", "name": "sonobuoy-scan-daemon-set-s1"},
        }),
    );
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&["w1"])).await;
    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/w1");
    assert!(error.error.starts_with("no pod was made for node `w1` within "), "{}", error.error);
    let why = format!("; the last warning about the DaemonSet is FailedCreate: {message}");
    assert!(error.error.ends_with(&why), "{}", error.error);
    assert_eq!(error.details["events"][0]["reason"], "FailedCreate");
}

#[tokio::test]
async fn each_of_many_failures_is_reported_once() {
    let names: Vec<String> = (0..40).map(|n| format!("w{n}")).collect();
    let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    let double = double(&nodes).await;
    nodes.iter().for_each(|node| double.put("pods", pod(&format!("scan-{node}"), node, pulling())));
    let mut bed = Bed::new(double, graces(GRACE)).await;
    bed.watch(watched(&nodes)).await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..nodes.len() {
        assert!(seen.insert(bed.failed().await.0));
    }
    bed.settle(&nodes).await;
    assert!(bed.is_silent());
}

#[tokio::test]
async fn a_plugin_that_ended_well_is_reported_because_its_worker_cannot_see_it() {
    let end = |code: u64| json!({"terminated": {"exitCode": code}});
    let double = double(&["w1"]).await;
    double.put("pods", pod("failed", "w1", end(1)));
    double.put("pods", pod("done", "w1", end(0)));
    let mut bed = Bed::new(double, graces(3000)).await;
    bed.watch(watched(&[])).await;
    assert_eq!(bed.report().await, Report::PluginEnded { key: "scan/global".parse().unwrap() });
}
