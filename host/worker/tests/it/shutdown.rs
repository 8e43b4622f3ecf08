//! Requests to stop, with and without a done file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use plumbline_phonehome::Outcome;
use plumbline_worker::{Ended, Mode, Settings, Shutdown, Worker, WorkerConfig, WorkerError};
use tokio::time::Instant;

use crate::aggregator::{Aggregator, Run, node, quick, setup, soon};
use crate::delivery::finish;

/// Returns a loopback address on which nothing listens.
fn nowhere() -> std::net::SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_worker_waits_a_minute_for_the_done_file_and_then_gives_up() {
    let run = Run::new();
    let dir = tempfile::tempdir().unwrap();
    let worker =
        Worker::new(run.config(nowhere(), dir.path()), Mode::Global { sleep: 0 }, Settings::default()).unwrap();
    let shutdown = Shutdown::new();
    let task = tokio::spawn(worker.run(shutdown.clone()));
    tokio::time::sleep(Duration::from_secs(7200)).await;
    assert!(!task.is_finished());
    let drained = Instant::now();
    shutdown.drain();
    assert_eq!(task.await.unwrap().unwrap(), Ended::GaveUp);
    let after = drained.elapsed();
    assert!((Duration::from_secs(60)..Duration::from_secs(62)).contains(&after), "{after:?}");
}

#[tokio::test]
async fn a_result_that_is_finished_in_that_time_is_sent() {
    let (run, mut aggregator, dir) = setup().await;
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(run.worker(aggregator.address, dir.path()).run(shutdown.clone()));
    aggregator.next("heartbeat").await;
    shutdown.drain();
    // The worker is still running and waiting.
    for _ in 0..3 {
        assert_eq!(aggregator.next("heartbeat").await.json("phase"), "waiting");
    }
    finish(dir.path(), "partial.json", "{}");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    assert_eq!(&aggregator.next("results").await.body[..], b"{}");
}

/// Returns the configuration of a worker on a node.
fn on_node(run: &Run, aggregator: &Aggregator, dir: &std::path::Path) -> WorkerConfig {
    WorkerConfig { node: Some(node()), ..run.config(aggregator.address, dir) }
}

#[tokio::test]
async fn what_a_plugin_on_a_node_writes_when_it_is_stopped_is_not_its_result() {
    let (run, mut aggregator, dir) = setup().await;
    // The plugin gets the signal first, and writes what it has so far.
    let config = WorkerConfig { done_file_delay: Duration::from_secs(3600), ..on_node(&run, &aggregator, dir.path()) };
    finish(dir.path(), "part.json", "{}");
    let shutdown = Shutdown::new();
    let worker = Worker::new(config, Mode::SingleNode { sleep: -1 }, quick()).unwrap();
    let worker = tokio::spawn(worker.run(shutdown.clone()));
    aggregator.next("heartbeat").await;
    shutdown.drain();
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::GaveUp);
    assert!(aggregator.rest("results").is_empty(), "the next pod runs the plugin again");
}

#[tokio::test]
async fn a_complete_result_of_a_node_is_sent_to_its_end() {
    let run = Run::new();
    let (tell, mut refused) = tokio::sync::mpsc::unbounded_channel();
    let is_ready = Arc::new(AtomicBool::new(false));
    let ready = Arc::clone(&is_ready);
    let aggregator = Aggregator::answering(&run, move |heard| {
        if heard.kind() == "results" && !ready.load(Ordering::Relaxed) {
            let _ = tell.send(());
            return (StatusCode::SERVICE_UNAVAILABLE, "busy\n".to_owned());
        }
        (StatusCode::OK, String::new())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    finish(dir.path(), "x", "x");
    let shutdown = Shutdown::new();
    let config = on_node(&run, &aggregator, dir.path());
    let worker = Worker::new(config, Mode::SingleNode { sleep: -1 }, quick()).unwrap();
    let worker = tokio::spawn(worker.run(shutdown.clone()));
    soon("an attempt", refused.recv()).await.unwrap();
    shutdown.drain();
    is_ready.store(true, Ordering::Relaxed);
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}

#[tokio::test(start_paused = true)]
async fn a_done_file_is_read_before_its_delay_if_the_drain_period_ends_first() {
    let run = Run::new();
    let dir = tempfile::tempdir().unwrap();
    finish(dir.path(), "x", "x");
    let config = WorkerConfig { done_file_delay: Duration::from_secs(3600), ..run.config(nowhere(), dir.path()) };
    let worker = Worker::new(config, Mode::Global { sleep: 0 }, Settings::default()).unwrap();
    let shutdown = Shutdown::new();
    let task = tokio::spawn(worker.run(shutdown.clone()));
    tokio::time::sleep(Duration::from_secs(10)).await;
    let asked = Instant::now();
    shutdown.drain();
    // No aggregator takes the result, so only the attempt to send it shows.
    let error = task.await.unwrap().unwrap_err();
    assert!(matches!(error, WorkerError::CutOff { .. }), "{error:?}");
    let after = asked.elapsed();
    assert!((Duration::from_secs(105)..Duration::from_secs(110)).contains(&after), "{after:?}");
}

#[tokio::test]
async fn an_upload_gets_the_drain_period_and_no_more() {
    let run = Run::new();
    let (tell, mut refused) = tokio::sync::mpsc::unbounded_channel();
    let aggregator = Aggregator::answering(&run, move |heard| {
        if heard.path.contains("/results/") {
            let _ = tell.send(());
            return (StatusCode::SERVICE_UNAVAILABLE, "busy\n".to_owned());
        }
        (StatusCode::OK, String::new())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    finish(dir.path(), "x", "x");
    let settings = Settings { drain: Duration::from_millis(100), ..quick() };
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(worker.run(shutdown.clone()));
    for _ in 0..2 {
        soon("an attempt", refused.recv()).await.unwrap();
    }
    shutdown.drain();
    let error = soon("the end", worker).await.unwrap().unwrap_err();
    assert!(matches!(error, WorkerError::CutOff { .. }), "{error:?}");
    assert_eq!(error.to_string(), "asked to stop before the result of node-check/global was sent");
}

#[tokio::test]
async fn at_once_means_at_once() {
    let (run, mut aggregator, dir) = setup().await;
    let settings = Settings { drain: Duration::from_secs(24 * 3600), ..quick() };
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(worker.run(shutdown.clone()));
    aggregator.next("hello").await;
    shutdown.drain();
    aggregator.next("heartbeat").await;
    assert!(!worker.is_finished());
    shutdown.now();
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::GaveUp);
}
