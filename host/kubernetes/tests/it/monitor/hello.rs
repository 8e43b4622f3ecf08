//! Workers that never contact the aggregator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use plumbline_aggregator::WorkerContact;
use plumbline_kubernetes::monitor::GracePeriods;
use serde_json::json;

use super::bed::{Bed, double, graces, pod, pulling, running, watched};

async fn bed(log: &str) -> Bed {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    double.set_log("ns", "scan-x", "sonobuoy-worker", log);
    let bed = Bed::new(double, graces(300)).await;
    let mut watched = watched(&["w1"]);
    watched.heard = WorkerContact::new(|_| None);
    bed.watch(watched).await;
    bed
}

#[tokio::test]
async fn a_worker_that_cannot_reach_the_aggregator_says_why_and_ends_a_run_that_is_to_fail_fast() {
    let log = "INFO worker started\nWARN failed to reach the aggregator; retrying cause=\"no such host `sonobuoy-aggregator`\"\n";
    let mut bed = bed(log).await;
    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/w1");
    for part in [
        "did not reach the aggregator",
        "`sonobuoy-aggregator`",
        "network policies",
        "no such host",
        "`scan-x`",
        "`w1`",
    ] {
        assert!(error.error.contains(part), "{part}: {}", error.error);
    }
    bed.fail_fast.cancelled().await;
}

#[tokio::test]
async fn without_a_grace_period_the_cluster_is_not_asked_all_the_time() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    // An empty log does not show whether the worker ever contacts the aggregator.
    double.set_log("ns", "scan-x", "sonobuoy-worker", "");
    let bed = Bed::new(double, graces(0)).await;
    let mut watched = watched(&["w1"]);
    watched.heard = WorkerContact::new(|_| None);
    let start = Instant::now();
    bed.watch(watched).await;
    bed.asked_times(&["/pods/scan-x/log", "sonobuoy-worker"], 3).await;
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_worker_that_falls_silent_is_reported_and_then_lost() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    let mut bed = Bed::new(double, graces(1000)).await;
    let said = Timestamp::now();
    let mut watched = watched(&["w1"]);
    watched.heard = WorkerContact::new(move |_| Some(said));
    bed.watch(watched).await;
    let (key, reason) = bed.trouble().await;
    assert_eq!(key, "scan/w1");
    assert!(reason.unwrap().contains("pod `scan-x` on node `w1` has sent no heartbeat"));
    let (key, error) = bed.failed().await;
    assert_eq!((key.as_str(), &error.details["reason"]), ("scan/w1", &"Silent".into()));
    assert!(!bed.fail_fast.is_cancelled());
    let mut events = bed.double.changed("events", |events| events.len() == 2).await;
    events.sort_by_key(|event| event["reason"].to_string());
    for (event, (reason, lasted)) in
        events.iter().zip([("ResultDelayed", "has sent no heartbeat"), ("ResultLost", &error.error)])
    {
        assert_eq!((&event["type"], &event["reason"]), (&"Warning".into(), &reason.into()));
        assert_eq!(event["involvedObject"]["name"], "scan-x");
        assert!(event["message"].as_str().unwrap().contains(lasted), "{event}");
    }
}

#[tokio::test]
async fn silence_is_noticed_although_the_clock_was_set_back() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    let mut bed = Bed::new(double, graces(300)).await;
    // The ledger does not follow: its time is an hour ahead of this machine's.
    let clock = || Timestamp::now() + SignedDuration::from_hours(1);
    let said = clock();
    let mut watched = watched(&["w1"]);
    watched.heard = WorkerContact::new(move |_| Some(said)).with_clock(clock);
    bed.watch(watched).await;
    let (key, error) = bed.failed().await;
    assert_eq!((key.as_str(), &error.details["reason"]), ("scan/w1", &"Silent".into()));
}

#[tokio::test]
async fn silence_counts_from_the_annotation_after_the_hello() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    let graces = GracePeriods { hello: Duration::from_secs(600), ..graces(300) };
    let mut bed = Bed::new(double, graces).await;
    let (said, greeted) = (Timestamp::now(), Arc::new(AtomicBool::new(false)));
    let mut watched = watched(&["w1"]);
    watched.heard = WorkerContact::new({
        let greeted = Arc::clone(&greeted);
        move |_| greeted.load(Ordering::Relaxed).then_some(said)
    });
    bed.watch(watched).await;
    bed.asked(&["/pods", "watch"]).await;
    greeted.store(true, Ordering::Relaxed);
    bed.double.update("pods", "ns", "scan-x", |pod| pod["metadata"]["annotations"] = json!({"worker": "hello"}));
    let (_, reason) = bed.trouble().await;
    assert!(reason.unwrap().contains("has sent no heartbeat"));
}

#[tokio::test]
async fn without_the_permission_for_events_everything_else_continues() {
    let double = double(&["w1"]).await;
    double.deny("create", "events");
    double.put("pods", pod("scan-x", "w1", running()));
    let mut bed = Bed::new(double, graces(200)).await;
    let said = Timestamp::now();
    let mut watched = watched(&["w1"]);
    watched.heard = WorkerContact::new(move |_| Some(said));
    bed.watch(watched).await;
    assert!(bed.trouble().await.1.is_some());
    assert_eq!(bed.failed().await.1.details["reason"], "Silent");
    assert_eq!(bed.double.list("events").len(), 0);
}

#[tokio::test]
async fn a_worker_of_another_make_is_not_expected_to_say_hello() {
    let mut bed = bed("time=\"2026-01-01T00:00:00Z\" level=trace msg=\"Invoked command single-node\"\n").await;
    bed.asked(&["/pods/scan-x/log", "sonobuoy-worker"]).await;
    bed.double.put("pods", pod("scan-x", "w1", pulling()));
    // Other problems of the pod are still reported.
    assert_eq!(bed.failed().await.1.details["reason"], "ImagePull");
    assert!(!bed.fail_fast.is_cancelled());
}
