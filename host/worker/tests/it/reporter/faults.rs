//! API server failures: the outcome is written anyway.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plumbline_dev::FaultKind;
use plumbline_worker::reporter::Outcome;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::reporter::bed::Bed;

const GOOD: &str = r#"{"status":"success","reason":"Done","message":"m"}"#;
const STATUS: &str = "/jobs/j/status";

async fn written_despite(prepare: impl FnOnce(&Bed)) -> Bed {
    let bed = Bed::new().await;
    bed.write(GOOD);
    prepare(&bed);
    bed.report().await;
    bed.expect("True", "Done", "m");
    bed
}

#[tokio::test]
async fn failures_of_the_server_pass() {
    for code in [429, 500, 503, 504] {
        written_despite(|bed| {
            bed.refuse("GET", "/jobs/j", code, 1);
            bed.refuse("PATCH", STATUS, code, 2);
        })
        .await;
    }
}

#[tokio::test]
async fn connections_that_break_pass() {
    written_despite(|bed| {
        bed.fault("GET", "/jobs/j", FaultKind::Reset, 2);
        bed.fault("PATCH", STATUS, FaultKind::Reset, 1);
    })
    .await;
}

#[tokio::test]
async fn a_crash_while_the_server_is_away_is_not_hidden_by_a_success_in_another_format() {
    let mut bed = Bed::with(&[("RESULT_FORMAT", "junit")]).await;
    bed.processor =
        Some(Arc::new(|_: &Path, _: &[u8]| Ok(Outcome::new(true, "ChecksPassed", "the first suite passed", None))));
    bed.run_with(async {
        bed.watched().await;
        // The server is away for longer than the file takes to settle.
        bed.refuse("GET", "/pods", 503, u32::MAX);
        bed.double.drop_watches();
        bed.write("<first/>");
        bed.ends(1, "Error");
        tokio::time::sleep(Duration::from_secs(1)).await;
        bed.double.clear_faults();
    })
    .await;
    let message = "Adapter container exited with code 1: Error (its results: the first suite passed)";
    bed.expect("False", "AdapterExitedWithError", message);
}

#[tokio::test]
async fn a_token_that_is_being_replaced_passes() {
    written_despite(|bed| bed.refuse("PATCH", STATUS, 401, 3)).await;
}

#[tokio::test]
async fn credentials_are_read_again_after_a_rejection() {
    let (old, new) = (Bed::new().await, Bed::new().await);
    let kubeconfig = old.kubeconfig();
    let reporter = Bed::new().await.through(kubeconfig.clone()).await;
    // The initial credentials become invalid, and the file contains new ones.
    old.refuse("GET", "/", 401, u32::MAX);
    fs::write(kubeconfig, new.double.kubeconfig()).unwrap();
    reporter.write(GOOD);
    reporter.report().await;
    new.expect("True", "Done", "m");
}

#[tokio::test]
async fn a_permission_that_comes_late_is_waited_for() {
    written_despite(|bed| bed.refuse("GET", "/jobs/j", 403, 2)).await;
}

#[tokio::test]
async fn concurrent_writes_are_preserved() {
    let bed = Bed::new().await;
    bed.write(GOOD);
    // The first patch stalls long enough for another client to write first.
    bed.fault("PATCH", STATUS, FaultKind::Stall(Duration::from_millis(1500)), 1);
    bed.run_with(async {
        bed.double.requested(|all| all.iter().any(|one| one.method == "PATCH")).await;
        let theirs = json!([{"type": "Theirs", "status": "True"}]);
        bed.double.update("jobs", "default", "j", |job| job["status"]["conditions"] = theirs);
    })
    .await;
    let kinds: Vec<_> = bed.conditions().iter().map(|one| one["type"].clone()).collect();
    assert_eq!(kinds, ["Theirs", "Available"]);
}

#[tokio::test]
async fn the_server_is_asked_again_when_it_says_so() {
    let bed = Bed::new().await;
    bed.write(GOOD);
    let kind = FaultKind::Status { code: 429, message: "later".into(), retry_after: Some(1) };
    bed.fault("PATCH", STATUS, kind, 1);
    let begin = std::time::Instant::now();
    bed.report().await;
    assert!(begin.elapsed() >= Duration::from_secs(1));
    bed.expect("True", "Done", "m");
}

#[tokio::test]
async fn a_reporter_terminated_while_it_writes_continues_for_a_while() {
    let bed = Bed::new().await;
    bed.write(GOOD);
    bed.refuse("PATCH", STATUS, 503, 3);
    let stop = CancellationToken::new();
    let tell = async {
        bed.double.requested(|all| all.iter().any(|one| one.method == "PATCH")).await;
        stop.cancel();
    };
    bed.try_run_with(stop.cancelled(), tell).await.unwrap();
    bed.expect("True", "Done", "m");
}

#[tokio::test]
async fn a_pod_that_cannot_be_asked_for_a_while_is_asked_again() {
    let bed = Bed::new().await;
    bed.refuse("GET", "/pods", 503, 3);
    bed.ends(1, "Error");
    bed.report().await;
    assert_eq!(bed.condition().1, "AdapterExitedWithError");
}

#[tokio::test]
async fn a_job_that_is_not_there_is_an_error() {
    let bed = Bed::new().await;
    bed.write(GOOD);
    bed.double.remove("jobs", "default", "j");
    let error = bed.try_run_with(std::future::pending(), async {}).await.unwrap_err();
    assert_eq!(error.code, Some(404));
    assert!(error.hint.unwrap().contains("JOB_NAME"));
}

#[tokio::test]
async fn the_condition_of_a_later_job_is_not_touched() {
    let bed = Bed::new().await;
    bed.run_with(async {
        // Wait until the pod, and with it its owner, is known.
        bed.watched().await;
        bed.write(GOOD);
    })
    .await;
    let bed = Bed::new().await;
    let failed = bed
        .try_run_with(std::future::pending(), async {
            bed.watched().await;
            bed.double.update("jobs", "default", "j", |job| job["metadata"]["uid"] = json!("another"));
            bed.write(GOOD);
        })
        .await;
    assert!(failed.unwrap_err().cause.contains("earlier Job"));
    assert!(bed.conditions().is_empty());
    // The result may also be there before the reporter has seen the pod.
    let bed = Bed::new().await;
    bed.double.update("jobs", "default", "j", |job| job["metadata"]["uid"] = json!("another"));
    bed.write(GOOD);
    let failed = bed.try_run_with(std::future::pending(), std::future::ready(())).await;
    assert!(failed.unwrap_err().cause.contains("earlier Job"));
    assert!(bed.conditions().is_empty());
}
