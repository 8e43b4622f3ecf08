//! The aggregator asks for partial results.

use http::StatusCode;
use plumbline_worker::{Ended, PACKED_NAME, Shutdown};

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

/// Returns an aggregator that asks for partial results and answers them with these codes, in order.
/// The last one repeats.
async fn asking(run: &Run, codes: &[u16]) -> Aggregator {
    let mut codes = codes.to_vec();
    Aggregator::answering(run, move |heard| match heard.kind() {
        "heartbeat" => (StatusCode::OK, r#"{"send-partial":true}"#.to_owned()),
        "partial" => {
            let code = if codes.len() > 1 { codes.remove(0) } else { codes[0] };
            (StatusCode::from_u16(code).unwrap(), String::new())
        }
        _ => (StatusCode::OK, String::new()),
    })
    .await
}

#[tokio::test]
async fn partial_results_are_sent_again_until_they_are_taken() {
    let run = Run::new();
    let mut aggregator = asking(&run, &[503, 500, 200]).await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("half.txt"), "half").unwrap();
    let worker = tokio::spawn(Box::pin(run.worker(aggregator.address, dir.path()).run(Shutdown::new())));
    let first = aggregator.next("partial").await;
    for _ in 0..2 {
        assert!(aggregator.next("partial").await.body == first.body);
    }
    say_done(dir.path(), "half.txt");
    aggregator.next("results").await;
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
    assert!(aggregator.rest("partial").is_empty(), "taken, and sent again");
}

#[tokio::test]
async fn a_result_does_not_wait_for_partial_results_that_are_not_taken() {
    let run = Run::new();
    let mut aggregator = asking(&run, &[503]).await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("half.txt"), "half").unwrap();
    let worker = tokio::spawn(Box::pin(run.worker(aggregator.address, dir.path()).run(Shutdown::new())));
    for _ in 0..3 {
        aggregator.next("partial").await;
    }
    say_done(dir.path(), "half.txt");
    assert_eq!(aggregator.next("results").await.header("content-disposition"), Some("attachment;filename=half.txt"));
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
}

#[tokio::test]
async fn partial_results_do_not_replace_the_result_of_the_same_name() {
    let run = Run::new();
    let mut aggregator = asking(&run, &[200]).await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(PACKED_NAME), "what the plugin packed").unwrap();
    let worker = tokio::spawn(Box::pin(run.worker(aggregator.address, dir.path()).run(Shutdown::new())));
    aggregator.next("partial").await;
    say_done(dir.path(), PACKED_NAME);
    assert_eq!(&aggregator.next("results").await.body[..], b"what the plugin packed");
    assert!(matches!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(_)));
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
