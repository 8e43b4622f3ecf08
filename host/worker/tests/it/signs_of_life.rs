//! Hellos and heartbeats.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::StatusCode;
use plumbline_phonehome::Outcome;
use plumbline_worker::{Ended, Mode, Shutdown, Worker};

use crate::aggregator::{Aggregator, Run, quick, setup, soon};
use crate::delivery::finish;

#[tokio::test]
async fn a_hello_comes_first_and_heartbeats_follow_until_the_end() {
    let (run, mut aggregator, dir) = setup().await;
    let worker = tokio::spawn(run.worker(aggregator.address, dir.path()).run(Shutdown::new()));

    let hello = aggregator.next("hello").await;
    assert_eq!(hello.path, "/api/v1/hello/global/node-check");
    assert_eq!(hello.json("results-dir"), dir.path().to_str().unwrap());
    assert_eq!(hello.json("pid"), std::process::id());
    let mut since = None;
    for _ in 0..5 {
        let heartbeat = aggregator.next("heartbeat").await;
        assert_eq!(heartbeat.path, "/api/v1/heartbeat/global/node-check");
        assert_eq!(heartbeat.json("phase"), "waiting");
        assert_eq!(*since.get_or_insert(heartbeat.json("since")), heartbeat.json("since"));
    }
    assert!(aggregator.rest("hello").is_empty());

    finish(dir.path(), "x", "x");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}

#[tokio::test]
async fn a_worker_that_stays_says_once_that_it_is_done() {
    let (run, mut aggregator, dir) = setup().await;
    finish(dir.path(), "x", "x");
    let shutdown = Shutdown::new();
    let worker =
        Worker::new(run.config(aggregator.address, dir.path()), Mode::SingleNode { sleep: -1 }, quick()).unwrap();
    let worker = tokio::spawn(worker.run(shutdown.clone()));
    while aggregator.next("heartbeat").await.json("phase") != "done" {}
    assert!(!worker.is_finished());
    shutdown.drain();
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    assert!(aggregator.rest("heartbeat").is_empty());
}

#[tokio::test]
async fn hellos_are_repeated_until_one_is_heard() {
    let run = Run::new();
    let (tries, counted) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let seen = Arc::clone(&tries);
    let beats = Arc::clone(&counted);
    let mut aggregator = Aggregator::answering(&run, move |heard| {
        if heard.path.contains("/hello/") && seen.fetch_add(1, Ordering::SeqCst) < 3 {
            return (StatusCode::SERVICE_UNAVAILABLE, "not yet\n".to_owned());
        }
        if heard.path.contains("/heartbeat/") {
            let code = [500, 408, 425].get(beats.fetch_add(1, Ordering::SeqCst) as usize).copied();
            return (StatusCode::from_u16(code.unwrap_or(200)).unwrap(), String::new());
        }
        (StatusCode::OK, String::new())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(run.worker(aggregator.address, dir.path()).run(shutdown.clone()));
    // Rejected heartbeats do not end the heartbeats either.
    for _ in 0..5 {
        aggregator.next("heartbeat").await;
    }
    assert_eq!(tries.load(Ordering::SeqCst), 4);
    shutdown.now();
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::GaveUp);
}

#[tokio::test]
async fn a_heartbeat_that_fails_is_soon_followed_by_another() {
    let run = Run::new();
    let mut heartbeats = 0;
    // The result is taken only after the third heartbeat.
    let aggregator = Aggregator::answering(&run, move |heard| {
        heartbeats += u32::from(heard.kind() == "heartbeat");
        let is_early = heartbeats < 3 && ["heartbeat", "results"].contains(&heard.kind());
        (if is_early { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }, String::new())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    finish(dir.path(), "x", "x");
    let mut settings = quick();
    // Longer than the test may take. The first heartbeat reports a change of phase.
    settings.rhythm.heartbeat = Duration::from_secs(600);
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    assert_eq!(soon("the end", worker.run(Shutdown::new())).await.unwrap(), Ended::Sent(Outcome::Stored));
}

#[tokio::test]
async fn an_aggregator_without_hellos_is_left_in_peace_and_gets_its_result() {
    let run = Run::new();
    let mut aggregator = Aggregator::plain(&run).await;
    let dir = tempfile::tempdir().unwrap();
    let worker = tokio::spawn(run.worker(aggregator.address, dir.path()).run(Shutdown::new()));
    aggregator.next("hello").await;
    finish(dir.path(), "x", "x");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    assert_eq!(aggregator.rest("hello").len() + aggregator.rest("heartbeat").len(), 0);
}

#[tokio::test]
async fn a_worker_that_is_not_wanted_says_nothing_more_and_still_tries_to_deliver() {
    let run = Run::new();
    let mut aggregator = Aggregator::answering(&run, |heard| {
        let status = if heard.path.contains("/results/") { StatusCode::OK } else { StatusCode::FORBIDDEN };
        (status, "not expected\n".to_owned())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let worker = tokio::spawn(run.worker(aggregator.address, dir.path()).run(Shutdown::new()));
    aggregator.next("hello").await;
    finish(dir.path(), "x", "x");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    assert_eq!(aggregator.rest("hello").len(), 0);
}
