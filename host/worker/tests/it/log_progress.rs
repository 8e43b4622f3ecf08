//! What is told of plugins that do not say how far they are.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use plumbline_core::definition::LogProgress;
use plumbline_phonehome::Outcome;
use plumbline_worker::{Ended, Mode, Settings, Shutdown, Silence, Worker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::aggregator::{Aggregator, Run, quick, soon};
use crate::delivery::say_done;

fn progress() -> LogProgress {
    LogProgress {
        file: "e2e.log".to_owned(),
        total: Some(r"^Will run (\d+) of".to_owned()),
        completed: "^•".to_owned(),
        failed: Some(r"^• \[FAILED\]".to_owned()),
    }
}

fn worker(run: &Run, aggregator: &Aggregator, dir: &Path, silence: Silence) -> (Worker, u16) {
    // A free port, for a test that posts: the relay takes it a moment later.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut config = run.config(aggregator.address, dir);
    config.log_progress = Some(progress());
    config.progress_port = port;
    (Worker::new(config, Mode::Global { sleep: 0 }, Settings { silence, ..quick() }).unwrap(), port)
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

const QUICK: Silence = Silence { after: Duration::from_millis(20), look: Duration::from_millis(5) };

#[tokio::test]
async fn a_silent_plugin_is_counted_in_its_log() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let dir = tempfile::tempdir().unwrap();
    let (worker, _) = worker(&run, &aggregator, dir.path(), QUICK);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    append(dir.path(), "Will run 3 of 7197 specs\n");
    let heard = aggregator.next("progress").await;
    assert_eq!(heard.path, "/api/v1/progress/global/node-check");
    assert_eq!((heard.json("total"), heard.json("completed")), (3.into(), 0.into()));
    append(dir.path(), "SSSS\n• [1 seconds]\n• [FAILED] [2 seconds]\n• [3");
    let mut heard = aggregator.next("progress").await;
    while heard.json("omitted") != 1 {
        heard = aggregator.next("progress").await;
    }
    assert_eq!((heard.json("total"), heard.json("completed")), (3.into(), 1.into()));
    assert_eq!(heard.json("msg"), "counted in e2e.log");
    append(dir.path(), " seconds]\n");
    assert_eq!(aggregator.next("progress").await.json("completed"), 2);

    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    append(dir.path(), "• [1 seconds]\n");
    assert!(aggregator.rest("progress").is_empty(), "nothing is told of a plugin that is done, and nothing twice");
}

#[tokio::test]
async fn a_plugin_that_speaks_is_left_to_speak() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let dir = tempfile::tempdir().unwrap();
    append(dir.path(), "Will run 3 of 7197 specs\n• [1 seconds]\n");
    let silence = Silence { after: Duration::from_secs(3600), look: Duration::from_millis(1) };
    let (worker, port) = worker(&run, &aggregator, dir.path(), silence);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    aggregator.next("hello").await;
    post(port, r#"{"total": 9, "completed": 5}"#).await;
    assert_eq!(aggregator.next("progress").await.json("completed"), 5);
    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
    assert!(aggregator.rest("progress").is_empty(), "its log is not looked into");
}

#[tokio::test]
async fn what_a_plugin_said_is_not_lost_in_a_test_that_takes_long() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let dir = tempfile::tempdir().unwrap();
    append(dir.path(), "Will run 99999 of 99999 specs\n• [1 seconds]\n• [FAILED] [1 seconds]\n");
    let (worker, port) = worker(&run, &aggregator, dir.path(), QUICK);
    let worker = tokio::spawn(worker.run(Shutdown::new()));
    aggregator.next("hello").await;
    post(port, r#"{"msg": "mine", "total": 99999, "completed": 1, "failures": ["[sig-a] bad"]}"#).await;
    while aggregator.next("progress").await.json("msg") != "mine" {}
    // It has said what its log says, and then it says nothing of the tests that end.
    let heard = loop {
        append(dir.path(), "• [1 seconds]\n");
        if let Ok(heard) = tokio::time::timeout(QUICK.look, aggregator.next("progress")).await {
            break heard;
        }
    };
    assert_eq!((&heard.json("failures")[0], heard.json("omitted")), (&"[sig-a] bad".into(), 0.into()));
    assert!(heard.json("completed").as_u64().unwrap() > 1, "what was said already is not said again");
    assert_eq!(heard.json("total"), 99999);
    say_done(dir.path(), "e2e.log");
    assert_eq!(soon("the end", worker).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}
