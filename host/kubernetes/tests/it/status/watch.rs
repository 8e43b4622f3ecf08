//! Follows the status with a watch.

use std::sync::Arc;
use std::time::Duration;

use plumbline_core::run_status::RunPhase;
use plumbline_kubernetes::names;
use plumbline_kubernetes::status::{Look, StatusError, StatusWatch, watch};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::bed::{Bed, NAMESPACE, POD, aggregator, plugin_pod};

/// Returns the next observation that satisfies `until`.
async fn next(watching: &mut StatusWatch, until: impl Fn(&Look) -> bool) -> Arc<Look> {
    let found = async {
        loop {
            let look = watching.next().await.expect("the watch goes on");
            if until(&look) {
                return look;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), found).await.expect("a look like this")
}

fn set(bed: &Bed, phase: &str) {
    let status = json!({"status": phase, "plugins": []}).to_string();
    bed.double.update("pods", NAMESPACE, POD, |pod| {
        pod["metadata"]["annotations"] = json!({names::STATUS_ANNOTATION: status});
    });
}

fn is(phase: RunPhase) -> impl Fn(&Look) -> bool {
    move |look| matches!(look, Ok(seen) if seen.status.status == phase)
}

#[tokio::test]
async fn every_change_is_seen_and_no_broken_watch_hides_one() {
    let bed = Bed::empty().await;
    bed.double.put("pods", aggregator("Pending", None));
    let mut watching = watch(&bed.cluster, NAMESPACE, CancellationToken::new());
    next(&mut watching, |look| matches!(look, Err(StatusError::Pending { .. }))).await;
    bed.double.update("pods", NAMESPACE, POD, |pod| pod["status"]["phase"] = json!("Running"));
    next(&mut watching, |look| matches!(look, Err(StatusError::NoAnnotation { .. }))).await;
    set(&bed, "running");
    next(&mut watching, is(RunPhase::Running)).await;
    bed.double.drop_watches();
    set(&bed, "post-processing");
    next(&mut watching, is(RunPhase::PostProcessing)).await;
    bed.double.expire_watches();
    set(&bed, "complete");
    next(&mut watching, is(RunPhase::Complete)).await;
    bed.double.remove("pods", NAMESPACE, POD);
    next(&mut watching, |look| matches!(look, Err(StatusError::NoPod { .. }))).await;
}

#[tokio::test]
async fn pods_that_wait_are_seen_at_once_and_until_they_run() {
    let bed = Bed::empty().await;
    bed.double.put("pods", aggregator("Running", Some(r#"{"status":"running"}"#)));
    let mut watching = watch(&bed.cluster, NAMESPACE, CancellationToken::new());
    next(&mut watching, |look| matches!(look, Ok(seen) if seen.waiting.is_empty())).await;
    bed.double.put("pods", plugin_pod("logs-1", "logs", "n1", Some("ContainerCreating")));
    let reason = |reason: &'static str| move |look: &Look| matches!(look, Ok(seen) if seen.waiting.iter().any(|w| w.reason == reason));
    next(&mut watching, reason("ContainerCreating")).await;
    bed.double.put("pods", plugin_pod("logs-1", "logs", "n1", Some("ErrImagePull")));
    next(&mut watching, reason("ErrImagePull")).await;
    bed.double.put("pods", plugin_pod("logs-1", "logs", "n1", None));
    next(&mut watching, |look| matches!(look, Ok(seen) if seen.waiting.is_empty())).await;
}

#[tokio::test]
async fn a_missing_permission_is_reported_and_a_stopped_watch_ends() {
    let bed = Bed::running().await;
    bed.fault("GET", "/pods", 403, 1);
    let stop = CancellationToken::new();
    let mut watching = watch(&bed.cluster, NAMESPACE, stop.clone());
    let look = next(&mut watching, |look| matches!(look, Err(StatusError::Cluster(_)))).await;
    assert!(matches!(look.as_ref(), Err(error) if error.is_final()));
    stop.cancel();
    let ended = async { while watching.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it ends");
}
