//! Environment, configuration file, log, signals and exit codes of a worker's process.

use std::fs;

use http::StatusCode;
use rustix::process::Signal;
use tokio::net::TcpListener;

use crate::aggregator::{Aggregator, ELSEWHERE, Run, node, setup};
use crate::delivery::{finish, say_done};
use crate::process::{WorkerProcess, bare, complete, with_file};

#[tokio::test]
async fn a_worker_is_configured_by_its_environment_and_exits_with_0() {
    let (run, mut aggregator, dir) = setup().await;
    let worker = WorkerProcess::start(complete("0", &run, aggregator.address, dir.path()));
    assert_eq!(aggregator.next("hello").await.json("results-dir"), dir.path().to_str().unwrap());
    finish(dir.path(), "x.json", "{}");
    let heard = aggregator.next("results").await;
    assert_eq!(heard.path, "/api/v1/results/by-node/node-7/node-check");
    let (code, log) = worker.end().await;
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("ended: Sent(Stored)"), "{log}");
    assert!(!log.contains("PRIVATE KEY"), "{log}");
}

#[tokio::test]
async fn a_worker_is_configured_by_a_file() {
    let (run, mut aggregator, dir) = setup().await;
    let file = dir.path().join("worker.json");
    let config = serde_json::json!({
        "aggregatorurl": format!("https://{}", aggregator.address), "nodename": node(), "resultsdir": dir.path(),
        "resulttype": "node-check", "progressport": "0", "cacert": run.ca.certificate_pem(),
        "clientcert": run.client.certificate_pem, "clientkey": run.client.key_pem,
    });
    fs::write(&file, config.to_string()).unwrap();
    let mut command = with_file(bare("global"), &file);
    command.env("SONOBUOY_DONE_FILE_DELAY", "0");
    let worker = WorkerProcess::start(command);
    aggregator.next("hello").await;
    say_done(dir.path(), "worker.json");
    assert_eq!(aggregator.next("results").await.path, "/api/v1/results/global/node-check");
    assert_eq!(worker.end().await.0, 0);
}

#[tokio::test]
async fn missing_settings_are_reported_and_the_exit_code_is_1() {
    let (code, log) = WorkerProcess::start(bare("-1")).end().await;
    assert_eq!(code, 1);
    for name in ["AGGREGATOR_URL", "RESULT_TYPE", "NODE_NAME", "CA_CERT", "CLIENT_CERT", "CLIENT_KEY"] {
        assert!(log.contains(&format!("`{name}`")), "{log}");
    }
}

#[tokio::test]
async fn a_worker_warns_that_another_result_was_stored_before_its_own() {
    let run = Run::new();
    let warning = "the aggregator stored another result or an error before this result";
    // The aggregator may have stored the first attempt, although it failed.
    for (codes, warns) in [(&[409][..], true), (&[500, 409], false)] {
        let aggregator = Aggregator::of_results(&run, codes).await;
        let dir = tempfile::tempdir().unwrap();
        finish(dir.path(), "x", "x");
        let (code, log) = WorkerProcess::start(complete("0", &run, aggregator.address, dir.path())).end().await;
        assert_eq!((code, log.contains(warning)), (0, warns), "{codes:?}: {log}");
    }
}

#[tokio::test]
async fn a_refused_result_makes_the_exit_code_1() {
    let run = Run::new();
    let aggregator = Aggregator::of_results(&run, &[403]).await;
    let dir = tempfile::tempdir().unwrap();
    finish(dir.path(), "x", "x");
    let (code, log) = WorkerProcess::start(complete("global", &run, aggregator.address, dir.path())).end().await;
    assert_eq!(code, 1);
    assert!(log.contains("answered 403 Forbidden: because of 403"), "{log}");
}

#[tokio::test]
async fn an_aggregator_that_is_away_shows_at_once_and_is_found_when_it_comes() {
    let run = Run::new();
    let address = TcpListener::bind((ELSEWHERE, 0)).await.unwrap().local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut worker = WorkerProcess::start(complete("global", &run, address, dir.path()));
    let line = worker.says(&["failed to reach the aggregator"]).await;
    assert!(line.contains("WARN") && line.contains(&format!("connect to {address}")), "{line}");
    assert!(line.contains("check that the run has not ended"), "{line}");

    let listener = TcpListener::bind(address).await.unwrap();
    let mut aggregator = Aggregator::on(listener, &run, |_| (StatusCode::OK, String::new()));
    aggregator.next("hello").await;
    worker.says(&["the aggregator registered this worker"]).await;
    finish(dir.path(), "x", "x");
    assert_eq!(&aggregator.next("results").await.body[..], b"x");
    assert_eq!(worker.end().await.0, 0);
}

#[tokio::test]
async fn a_first_signal_lets_the_plugin_finish() {
    let (run, mut aggregator, dir) = setup().await;
    let mut worker = WorkerProcess::start(complete("global", &run, aggregator.address, dir.path()));
    aggregator.next("hello").await;
    worker.signal(Signal::TERM);
    worker.says(&["a second signal stops immediately", "SIGTERM"]).await;
    finish(dir.path(), "last.json", "{}");
    assert_eq!(&aggregator.next("results").await.body[..], b"{}");
    let (code, log) = worker.end().await;
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("ended: Sent(Stored)"), "{log}");
}

#[tokio::test]
async fn a_second_signal_ends_at_once_and_nothing_is_sent() {
    let (run, mut aggregator, dir) = setup().await;
    let mut worker = WorkerProcess::start(complete("global", &run, aggregator.address, dir.path()));
    aggregator.next("hello").await;
    worker.signal(Signal::TERM);
    worker.says(&["a second signal stops immediately"]).await;
    worker.signal(Signal::INT);
    let (code, log) = worker.end().await;
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("ended: GaveUp"), "{log}");
    assert!(aggregator.rest("results").is_empty());
}

#[tokio::test]
async fn a_worker_that_stays_ends_on_a_signal() {
    let (run, mut aggregator, dir) = setup().await;
    finish(dir.path(), "x", "x");
    let worker = WorkerProcess::start(complete("-1", &run, aggregator.address, dir.path()));
    while aggregator.next("heartbeat").await.json("phase") != "done" {}
    worker.signal(Signal::TERM);
    let (code, log) = worker.end().await;
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("ended: Sent(Stored)"), "{log}");
}
