//! The annotation during the run.

use std::time::{Duration, Instant};

use plumbline_core::ledger::Event;
use plumbline_core::run_status::{RunFailure, RunPhase, RunStatus, TarInfo};
use plumbline_core::{GLOBAL, ProgressUpdate, Status};
use plumbline_kubernetes::names;
use plumbline_kubernetes::status::{LIMIT_BYTES, full, publish_delay, publish_preparing};
use tokio_util::sync::CancellationToken;

use super::bed::{Bed, Ledgered, NAMESPACE, POD, Publishing, RUN, key, pace};

fn progress(completed: i64) -> Event {
    Event::Progress { key: key("e2e", GLOBAL), update: ProgressUpdate { total: 1000, completed, ..Default::default() } }
}

#[tokio::test]
async fn it_is_there_at_once_under_both_keys() {
    let bed = Bed::running().await;
    let ledger = Ledgered::new(&[]);
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    let status = bed.published(|_| true).await;
    assert_eq!((status.plugins, status.run.as_deref()), (None, Some(RUN)));
    assert!(status.heartbeat.is_some());
    let pod = bed.double.get("pods", NAMESPACE, POD).unwrap();
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations[names::STATUS_ANNOTATION], annotations[names::STATUS_ANNOTATION_ALIAS]);
    assert!(
        annotations[names::STATUS_ANNOTATION]
            .as_str()
            .unwrap()
            .starts_with(r#"{"plugins":null,"status":"running","tar-info":{"#)
    );
    let patch = bed.double.requests().into_iter().find(|request| request.method == "PATCH").unwrap();
    assert_eq!(patch.content_type, "application/merge-patch+json");
    publishing.stop().await;
}

#[tokio::test]
async fn many_changes_are_few_writes_and_the_last_one_arrives() {
    let bed = Bed::running().await;
    let ledger = Ledgered::new(&[("e2e", &[GLOBAL])]);
    let pace = pace();
    let pause = pace.pause;
    let begin = Instant::now();
    let publishing = Publishing::start(bed.options(pace), &ledger.state);
    for n in 1..=1000 {
        ledger.state.apply(progress(n)).unwrap();
        if n % 10 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let done = |status: &RunStatus| {
        let entry = status.plugins.as_ref().and_then(|plugins| plugins.first());
        entry.and_then(|entry| entry.progress.as_ref()).is_some_and(|progress| progress.completed == 1000)
    };
    bed.published(done).await;
    let most = begin.elapsed().as_millis() / pause.as_millis() + 2;
    let writes = bed.patches(POD);
    assert!(writes as u128 <= most, "{writes} writes, at most {most}");
    publishing.stop().await;
}

#[tokio::test]
async fn the_heart_beats_though_nothing_changes() {
    let bed = Bed::running().await;
    let ledger = Ledgered::new(&[("e2e", &[GLOBAL])]);
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    let first = bed.published(|_| true).await.heartbeat;
    let second = bed.published(|status| status.heartbeat > first).await.heartbeat;
    bed.published(|status| status.heartbeat > second).await;
    publishing.stop().await;
}

#[tokio::test]
async fn the_heart_beats_before_there_is_a_plan() {
    let bed = Bed::running().await;
    let (stop, options) = (CancellationToken::new(), bed.options(pace()));
    let preparing = tokio::spawn({
        let stop = stop.clone();
        async move { publish_preparing(&options, &stop).await }
    });
    let first = bed.published(|_| true).await;
    assert_eq!((first.plugins, first.status, first.run.as_deref()), (None, RunPhase::Running, Some(RUN)));
    bed.published(|status| status.heartbeat > first.heartbeat).await;
    stop.cancel();
    preparing.await.unwrap();
}

#[tokio::test]
async fn a_delay_of_the_start_is_published_with_what_is_known_of_the_run() {
    let bed = Bed::running().await;
    let known = Ledgered::new(&[("e2e", &[GLOBAL])]).state.status();
    let (stop, options) = (CancellationToken::new(), bed.options(pace()));
    let (delays, delay) = tokio::sync::watch::channel(None);
    let publishing = tokio::spawn({
        let stop = stop.clone();
        async move { publish_delay(&options, known, delay, &stop).await }
    });
    delays.send_replace(Some(RunFailure::new("the API server is away", None)));
    let first = bed.published(|_| true).await;
    assert_eq!((first.status, first.run.as_deref()), (RunPhase::Running, Some(RUN)));
    assert_eq!(first.plugins.unwrap().len(), 1, "the expected results are known");
    assert_eq!(first.failure.unwrap().reason, "the API server is away");
    bed.published(|status| status.heartbeat > first.heartbeat).await;
    delays.send_replace(Some(RunFailure::new("it is overloaded", None)));
    bed.published(|status| status.failure.as_ref().unwrap().reason == "it is overloaded").await;
    stop.cancel();
    publishing.await.unwrap();
}

#[tokio::test]
async fn a_start_without_a_delay_publishes_nothing() {
    let bed = Bed::running().await;
    let (delays, delay) = tokio::sync::watch::channel(None);
    drop(delays);
    publish_delay(&bed.options(pace()), RunStatus::default(), delay, &CancellationToken::new()).await;
    assert_eq!(bed.patches(POD), 0);
}

#[tokio::test]
async fn no_refusal_ends_it() {
    let bed = Bed::running().await;
    for code in [500, 403, 409, 404, 429] {
        bed.fault("PATCH", &format!("/pods/{POD}"), code, 1);
    }
    let ledger = Ledgered::new(&[("e2e", &[GLOBAL])]);
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    bed.published(|status| status.plugins.is_some()).await;
    assert!(bed.patches(POD) > 5);
    ledger.state.apply(progress(7)).unwrap();
    bed.published(|status| status.plugins.as_ref().is_some_and(|plugins| plugins[0].progress.is_some())).await;
    publishing.stop().await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_asked_again() {
    let bed = Bed::running().await;
    bed.double.fault(plumbline_dev::Fault {
        method: Some("PATCH"),
        path_contains: format!("/pods/{POD}"),
        kind: plumbline_dev::FaultKind::Stall(Duration::from_secs(3600)),
        times: 1,
    });
    let ledger = Ledgered::new(&[]);
    let pace = plumbline_kubernetes::status::Pace { attempt: Duration::from_millis(200), ..pace() };
    let publishing = Publishing::start(bed.options(pace), &ledger.state);
    bed.published(|_| true).await;
    publishing.stop().await;
}

/// Returns a ledger with 5,000 nodes and two plugins.
fn large() -> Ledgered {
    let nodes: Vec<String> = (0..5000).map(|n| format!("ip-10-20-{}-{}.compute.internal", n / 256, n % 256)).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    Ledgered::new(&[("systemd-logs", &nodes), ("kube-bench", &nodes)])
}

#[tokio::test]
async fn a_status_that_is_too_large_is_complete_in_the_config_map() {
    let bed = Bed::running().await;
    let ledger = large();
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    let status = bed.published(|status| status.compacted.is_some()).await;
    assert_eq!(
        status.plugins.unwrap().iter().map(plumbline_core::run_status::PluginStatus::count).sum::<u64>(),
        10_000
    );
    let annotation =
        bed.double.get("pods", NAMESPACE, POD).unwrap()["metadata"]["annotations"][names::STATUS_ANNOTATION].clone();
    assert!(annotation.as_str().unwrap().len() <= LIMIT_BYTES);
    bed.double.changed("configmaps", |maps| !maps.is_empty()).await;
    let all = full(&bed.cluster, NAMESPACE).await.unwrap().unwrap();
    assert_eq!(all.plugins.unwrap().len(), 10_000);
    assert_eq!((all.run.as_deref(), all.compacted), (Some(RUN), None));
    publishing.stop().await;
}

#[tokio::test]
async fn a_server_that_finds_it_too_large_gets_less() {
    let bed = Bed::running().await;
    bed.fault("PATCH", &format!("/pods/{POD}"), 422, 1);
    let ledger = large();
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    bed.published(|_| true).await;
    let pod = bed.double.get("pods", NAMESPACE, POD).unwrap();
    let length = pod["metadata"]["annotations"][names::STATUS_ANNOTATION].as_str().unwrap().len();
    assert!(length <= LIMIT_BYTES / 4, "{length}");
    publishing.stop().await;
}

#[tokio::test]
async fn the_end_is_left_to_the_last_status() {
    let bed = Bed::running().await;
    let ledger = Ledgered::new(&[("e2e", &[GLOBAL])]);
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    let failed = Event::LaunchFailed { plugin: "e2e".parse().unwrap(), reason: "no".to_owned() };
    ledger.state.apply(failed).unwrap();
    let (status, counts) = (Status::Failed, [("failed".to_owned(), 1)].into());
    let processed = Event::PluginPostProcessed { plugin: "e2e".parse().unwrap(), status, counts };
    ledger.state.apply(processed).unwrap();
    let tar = TarInfo { name: "x.tar.gz".to_owned(), ..TarInfo::default() };
    ledger.state.apply(Event::Archived { tar }).unwrap();
    assert_eq!(ledger.state.status().status, RunPhase::Complete);
    // Heartbeats continue, because the archive may still be uploading.
    let first = bed.published(|status| status.status == RunPhase::PostProcessing).await;
    let next = bed.published(|status| status.heartbeat > first.heartbeat).await;
    assert_eq!((next.status, next.tar_info.name.as_str()), (RunPhase::PostProcessing, ""));
    publishing.stop().await;
}
