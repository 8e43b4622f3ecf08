//! Progress that the worker counts in a plugin's log.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use plumbline_core::definition::{LogFormat, LogProgress};
use plumbline_phonehome::Outcome;
use plumbline_worker::{Ended, Mode, Settings, Shutdown, Worker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::aggregator::{Aggregator, ReceivedRequest, Run, quick, setup, soon};
use crate::delivery::say_done;

fn worker(run: &Run, aggregator: &Aggregator, dir: &Path, log_interval: Duration) -> (Worker, u16) {
    // A free port for a test that posts updates. The relay binds it a moment later.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut config = run.config(aggregator.address, dir);
    config.log_progress = Some(LogProgress { file: "e2e.log".to_owned(), format: LogFormat::Ginkgo });
    config.progress_port = port;
    (Worker::new(config, Mode::Global { sleep: 0 }, Settings { log_interval, ..quick() }).unwrap(), port)
}

fn append(dir: &Path, text: &str) {
    let file = OpenOptions::new().create(true).append(true).open(dir.join("e2e.log"));
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

async fn post(port: u16, body: &str) {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("POST /progress HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

const OFTEN: Duration = Duration::from_millis(5);
const NEVER: Duration = Duration::from_secs(3600);

/// Returns the total, completed and failed tests of an update.
fn numbers(heard: &ReceivedRequest) -> (u64, u64, u64) {
    let number = |key| heard.json(key).as_u64().unwrap_or_default();
    let names = heard.json("failures").as_array().map_or(0, Vec::len) as u64;
    (number("total"), number("completed"), number("omitted") + names)
}

#[tokio::test]
async fn a_silent_plugin_is_counted_in_its_log() {
    let (run, mut aggregator, dir) = setup().await;
    let (worker, _) = worker(&run, &aggregator, dir.path(), OFTEN);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    append(dir.path(), "Will run 3 of 7197 specs\n");
    let heard = aggregator.next("progress").await;
    assert_eq!(heard.path, "/api/v1/progress/global/node-check");
    assert_eq!(numbers(&heard), (3, 0, 0));
    append(dir.path(), "SSSS•S");
    assert_eq!(numbers(&aggregator.next("progress").await), (3, 1, 0), "the line has not ended");
    append(dir.path(), "\n• [FAILED] [2 seconds]\n");
    let heard = aggregator.next("progress").await;
    assert_eq!((numbers(&heard), heard.json("msg")), ((3, 1, 1), "counted in e2e.log".into()));
    append(dir.path(), "SSSS•");
    assert_eq!(numbers(&aggregator.next("progress").await), (3, 2, 1));

    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    append(dir.path(), "•");
    assert!(aggregator.rest("progress").is_empty(), "nothing is reported twice, or after the plugin is done");
}

#[tokio::test]
async fn the_last_update_is_exact_and_arrives_before_the_result() {
    let (run, mut aggregator, dir) = setup().await;
    append(dir.path(), "Will run 3 of 7197 specs\n");
    let (worker, _) = worker(&run, &aggregator, dir.path(), NEVER);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    assert_eq!(numbers(&aggregator.next("progress").await), (3, 0, 0));
    append(dir.path(), "S•S•SS\n• [FAILED] [2 seconds]\nRan 3 of 7197 Specs in 1.0 seconds\n");
    append(dir.path(), "FAIL! -- 2 Passed | 1 Failed | 0 Pending | 7194 Skipped\n");
    say_done(dir.path(), "e2e.log");
    let mut last = None;
    let result = loop {
        let heard = aggregator.next_of(&["progress", "results"]).await;
        if heard.kind() == "results" {
            break heard;
        }
        last = Some(numbers(&heard));
    };
    assert_eq!((last, result.kind()), (Some((3, 2, 1)), "results"));
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}

#[tokio::test]
async fn updates_are_passed_on_until_the_log_counts() {
    let (run, mut aggregator, dir) = setup().await;
    let (worker, port) = worker(&run, &aggregator, dir.path(), OFTEN);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    aggregator.next("hello").await;
    post(port, r#"{"total": 9, "completed": 5, "append": "kept as it is"}"#).await;
    let heard = aggregator.next("progress").await;
    assert_eq!(heard.json("append"), "kept as it is");
    append(dir.path(), "Will run 9 of 99 specs\n•••••••");
    assert_eq!(numbers(&aggregator.next("progress").await), (9, 7, 0));
    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}

#[tokio::test]
async fn a_failure_is_reported_with_the_first_line_of_its_reason() {
    let (run, mut aggregator, dir) = setup().await;
    append(dir.path(), "Will run 3 of 7197 specs\n• [FAILED] [2 seconds]\n[sig-a] things [It] fail\n/a_test.go:1\n\n");
    append(dir.path(), "  [FAILED] quotas are denied here\n  In [It] at: /a_test.go:1 @ 11/22/26 19:29:29.951\n");
    let (worker, _) = worker(&run, &aggregator, dir.path(), OFTEN);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    let heard = aggregator.next("progress").await;
    assert_eq!(heard.json("failures"), serde_json::json!(["[sig-a] things fail"]));
    assert_eq!(heard.json("reasons"), serde_json::json!({"[sig-a] things fail": "quotas are denied here"}));
    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}

/// Each process of a parallel suite posts only the tests that it ran itself.
#[tokio::test]
async fn processes_of_a_parallel_suite_add_names_to_what_the_log_counts() {
    let (run, mut aggregator, dir) = setup().await;
    append(dir.path(), "Will run 9 of 99 specs\n•••\n• [FAILED] [1 seconds]\n• [FAILED] [1 seconds]\n");
    let (worker, port) = worker(&run, &aggregator, dir.path(), OFTEN);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    assert_eq!(numbers(&aggregator.next("progress").await), (9, 3, 2));
    post(port, r#"{"msg": "FAILED b", "total": 0, "completed": 1, "failed": 1, "failures": ["b"]}"#).await;
    let heard = aggregator.next("progress").await;
    assert_eq!((numbers(&heard), heard.json("msg")), ((9, 3, 2), "FAILED b".into()));
    post(port, r#"{"msg": "FAILED a", "total": 9, "completed": 0, "failed": 1, "failures": ["a"]}"#).await;
    let heard = aggregator.next("progress").await;
    assert_eq!((numbers(&heard), heard.json("failures")), ((9, 3, 2), serde_json::json!(["b", "a"])));
    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}
