//! The aggregator asks for the partial result.

use http::StatusCode;
use plumbline_worker::{Ended, Shutdown};

use crate::aggregator::{Aggregator, Run, setup, soon};
use crate::delivery::{finish, say_done};

#[tokio::test]
async fn partial_results_are_sent_once_and_the_worker_continues() {
    let run = Run::new();
    let mut aggregator = Aggregator::answering(&run, |heard| match heard.kind() {
        "heartbeat" => (StatusCode::OK, r#"{"send-partial":true}"#.to_owned()),
        _ => (StatusCode::OK, String::new()),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("half.txt"), "half").unwrap();
    let worker = tokio::spawn(Box::pin(run.worker(aggregator.address, dir.path()).run(Shutdown::new())));

    let partial = aggregator.next("partial").await;
    assert_eq!(partial.path, "/api/v1/partial/global/node-check");
    assert_eq!(partial.header("content-type"), Some("application/gzip"));

    say_done(dir.path(), "half.txt");
    assert_eq!(aggregator.next("results").await.header("content-disposition"), Some("attachment;filename=half.txt"));
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
    assert!(aggregator.rest("partial").is_empty(), "asked again and again, and sent once");
}

#[tokio::test]
async fn results_of_a_plugin_that_exits_with_0_are_complete_without_a_done_file() {
    let (run, mut aggregator, dir) = setup().await;
    std::fs::write(dir.path().join("report.txt"), "all is well").unwrap();
    let (tell, ended) = tokio::sync::oneshot::channel::<()>();
    let worker = run.worker(aggregator.address, dir.path()).with_companions(async { drop(ended.await) });
    let worker = tokio::spawn(Box::pin(worker.run(Shutdown::new())));
    aggregator.next("hello").await;
    tell.send(()).unwrap();
    let sent = aggregator.next("results").await;
    assert_eq!(sent.header("content-type"), Some("application/gzip"));
    assert_eq!(sent.header("content-disposition"), Some("attachment;filename=results.tar.gz"));
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
}

#[tokio::test]
async fn a_done_file_decides_even_if_the_plugin_ended_during_its_delay() {
    let (run, mut aggregator, dir) = setup().await;
    finish(dir.path(), "report.txt", "all is well");
    // The plugin has ended already, while the worker waits for the delay of the done file.
    let worker = run.worker(aggregator.address, dir.path()).with_companions(std::future::ready(()));
    let worker = tokio::spawn(Box::pin(worker.run(Shutdown::new())));
    let sent = aggregator.next("results").await;
    assert_eq!(sent.header("content-disposition"), Some("attachment;filename=report.txt"));
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
}

#[tokio::test]
async fn a_worker_without_a_token_learns_that_its_plugin_ended() {
    let run = Run::new();
    let mut aggregator = Aggregator::answering(&run, |heard| match heard.kind() {
        "heartbeat" => (StatusCode::OK, r#"{"plugin-ended":true}"#.to_owned()),
        _ => (StatusCode::OK, String::new()),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("report.txt"), "all is well").unwrap();
    let worker = tokio::spawn(Box::pin(run.worker(aggregator.address, dir.path()).run(Shutdown::new())));
    let sent = aggregator.next("results").await;
    assert_eq!(sent.header("content-disposition"), Some("attachment;filename=results.tar.gz"));
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
}
