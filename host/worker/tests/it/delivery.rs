//! The upload of a file: what the aggregator receives, and how the worker handles its responses.

use std::fs;
use std::path::Path;
use std::time::Duration;

use plumbline_phonehome::{ClientError, Outcome, RetryPolicy};
use plumbline_worker::{Ended, Mode, Settings, Shutdown, Worker, WorkerConfig, WorkerError};
use tempfile::TempDir;

use crate::aggregator::{Aggregator, Run, node, quick, soon};

/// Creates a results directory with one file and a done file that names it.
fn finished(file: &str, content: &[u8]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(file), content).unwrap();
    say_done(dir.path(), dir.path().join(file).to_str().unwrap());
    dir
}

/// Writes a file, and a done file with its name.
pub(crate) fn finish(dir: &Path, file: &str, content: &str) {
    fs::write(dir.join(file), content).unwrap();
    say_done(dir, file);
}

pub(crate) fn say_done(dir: &Path, text: &str) {
    fs::write(dir.join("done"), text).unwrap();
}

/// Runs a worker whose plugin has finished, and returns how it ended.
pub(crate) async fn end(run: &Run, aggregator: &Aggregator, dir: &Path) -> Result<Ended, WorkerError> {
    soon("the worker's end", run.worker(aggregator.address, dir).run(Shutdown::new())).await
}

#[tokio::test]
async fn a_file_arrives_with_its_name_and_type() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    for (name, content_type) in [
        ("junit.xml", Some("text/xml; charset=utf-8")),
        ("e2e.tar.gz", Some("application/gzip")),
        ("notes.TXT", Some("text/plain; charset=utf-8")),
        ("kept.tgz", None),
        ("systemd_logs", None),
    ] {
        let dir = finished(name, b"the content");
        assert_eq!(end(&run, &aggregator, dir.path()).await.unwrap(), Ended::Sent(Outcome::Stored));
        let heard = aggregator.next("results").await;
        assert_eq!(heard.path, "/api/v1/results/global/node-check");
        assert_eq!(heard.header("content-type"), content_type, "{name}");
        assert_eq!(heard.header("content-disposition").unwrap(), format!("attachment;filename={name}"));
        assert_eq!(heard.header("x-plumbline-error"), None);
        assert_eq!(&heard.body[..], b"the content");
    }
}

#[tokio::test]
async fn a_worker_on_a_node_sends_for_its_node_and_ends_after_its_sleep() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let dir = finished("facts.json", b"{}");
    let config = WorkerConfig { node: Some(node()), ..run.config(aggregator.address, dir.path()) };
    let worker = Worker::new(config, Mode::SingleNode { sleep: 0 }, quick()).unwrap();
    assert_eq!(soon("the end", worker.run(Shutdown::new())).await.unwrap(), Ended::Sent(Outcome::Stored));
    assert_eq!(aggregator.next("results").await.path, "/api/v1/results/by-node/node-7/node-check");
}

#[tokio::test]
async fn the_time_for_retries_is_computed_at_the_first_attempt() {
    fn at_the_upload(config: &WorkerConfig) -> RetryPolicy {
        assert!(config.results_dir.join("done").exists(), "the plugin still runs");
        RetryPolicy::never()
    }
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { retry: at_the_upload, ..quick() };
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    let ended = tokio::spawn(Box::pin(worker.run(Shutdown::new())));
    aggregator.next("hello").await;
    finish(dir.path(), "a.txt", "a");
    assert_eq!(soon("the end", ended).await.unwrap().unwrap(), Ended::Sent(Outcome::Stored));
}

#[tokio::test]
async fn white_space_and_relative_paths_in_a_done_file_do_not_matter() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let dir = finished("a b.json", b"[]");
    for text in ["\n  a b.json \t\r\n\n", "./a b.json", "/tmp/results/a b.json\n", "/tmp/sonobuoy/results/a b.json"] {
        say_done(dir.path(), text);
        end(&run, &aggregator, dir.path()).await.unwrap();
        assert_eq!(&aggregator.next("results").await.body[..], b"[]", "{text:?}");
    }
}

#[tokio::test]
async fn a_rejected_result_is_sent_again_from_the_start() {
    let run = Run::new();
    let mut aggregator = Aggregator::of_results(&run, &[500, 503, 200]).await;
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let dir = finished("numbers.bin", &content);
    assert_eq!(end(&run, &aggregator, dir.path()).await.unwrap(), Ended::Sent(Outcome::Stored));
    let tries = aggregator.rest("results");
    assert_eq!(tries.len(), 3);
    assert!(tries.iter().all(|heard| heard.body == content));
}

#[tokio::test]
async fn a_result_that_the_aggregator_already_has_counts_as_sent() {
    let run = Run::new();
    // After a complete attempt, the aggregator may have stored the result although it failed.
    for (codes, outcome) in [(&[409][..], Outcome::OtherReceived), (&[500, 409], Outcome::AlreadyReceived)] {
        let mut aggregator = Aggregator::of_results(&run, codes).await;
        let dir = finished("x", b"x");
        assert_eq!(end(&run, &aggregator, dir.path()).await.unwrap(), Ended::Sent(outcome));
        assert_eq!(aggregator.rest("results").len(), codes.len());
    }
}

#[tokio::test]
async fn a_refusal_ends_the_worker_at_once_and_says_what_to_do() {
    let run = Run::new();
    for code in [400, 403, 404, 413] {
        let mut aggregator = Aggregator::of_results(&run, &[code]).await;
        let dir = finished("x.json", b"{}");
        let error = end(&run, &aggregator, dir.path()).await.unwrap_err();
        let WorkerError::Upload { source, .. } = &error else { panic!("{error:?}") };
        let ClientError::Refused { status, body, .. } = &**source else { panic!("{error:?}") };
        assert_eq!((status.as_u16(), body.trim()), (code, format!("because of {code}").as_str()));
        assert_eq!(
            error.to_string(),
            format!("failed to send `{}` as the result of node-check/global", real(&dir).join("x.json").display())
        );
        assert_eq!(error.hint().is_some(), code != 400);
        // The upload is not retried. The worker reports why there is no result, unless the
        // aggregator does not know this worker.
        let heard = aggregator.rest("results");
        let errors: Vec<_> = heard.iter().skip(1).map(|heard| heard.json("error")).collect();
        match code {
            400 | 413 => assert_eq!(errors, [format!("the aggregator rejected the result: because of {code}")]),
            _ => assert!(errors.is_empty(), "{code}: {errors:?}"),
        }
    }
}

fn briefly(config: &WorkerConfig) -> RetryPolicy {
    RetryPolicy { deadline: Duration::from_millis(50), ..(quick().retry)(config) }
}

#[tokio::test]
async fn trying_again_ends_at_the_deadline_with_the_last_reason() {
    let run = Run::new();
    let aggregator = Aggregator::of_results(&run, &[500]).await;
    let dir = finished("x", b"x");
    let settings = Settings { retry: briefly, ..quick() };
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    let error = soon("the end", worker.run(Shutdown::new())).await.unwrap_err();
    assert!(
        plumbline_worker::chain(&error).ends_with("answered 500 Internal Server Error: because of 500"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_certificate_of_another_run_is_never_accepted() {
    let (run, other) = (Run::new(), Run::new());
    let mut aggregator = Aggregator::start(&other).await;
    let dir = finished("x", b"x");
    let settings = Settings { retry: briefly, ..quick() };
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    let error = soon("the end", worker.run(Shutdown::new())).await.unwrap_err();
    assert!(error.hint().unwrap().contains("does not belong to this run"), "{error:?}");
    assert!(aggregator.rest("results").is_empty());
}

fn real(dir: &TempDir) -> std::path::PathBuf {
    dir.path().canonicalize().unwrap()
}
