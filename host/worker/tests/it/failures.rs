//! Plugins that report that they have finished, but do not name anything that can be sent.

use std::fs;
use std::os::unix::fs::symlink;

use plumbline_worker::{GatherError, WorkerError, chain};

use crate::aggregator::{Aggregator, Run, setup};
use crate::delivery::{end, say_done};
use crate::process::{WorkerProcess, complete};

#[tokio::test]
async fn the_worker_reports_why_there_is_no_result() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("results");
    fs::create_dir(&dir).unwrap();
    fs::write(outer.path().join("secret"), "never leaves").unwrap();
    symlink(outer.path().join("secret"), dir.join("link.json")).unwrap();
    for (named, reason) in [
        ("nothing.json", "which does not exist in"),
        ("/no/such/place", "which does not exist in"),
        ("../secret", "which is outside of the results directory"),
        ("/etc/passwd", "which is outside of the results directory"),
        ("link.json", "which is outside of the results directory"),
    ] {
        say_done(&dir, named);
        let error = end(&run, &aggregator, &dir).await.unwrap_err();
        let WorkerError::Gather { source, .. } = &error else { panic!("{error:?}") };
        assert!(matches!(source, GatherError::Missing { .. } | GatherError::Outside { .. }), "{error:?}");
        assert!(chain(&error).contains(&format!("the done file names `{named}`, {reason}")), "{}", chain(&error));

        let heard = aggregator.next("results").await;
        assert_eq!(heard.header("x-plumbline-error"), Some("true"));
        assert_eq!(heard.header("content-type"), Some("application/json"));
        assert_eq!(heard.header("content-disposition"), Some("attachment;filename=error.json"));
        let reported = heard.json("error");
        let reported = reported.as_str().unwrap();
        assert!(reported.contains(reason) && reported.contains("write a path below"), "{reported}");
        assert!(aggregator.rest("results").is_empty());
    }
}

#[tokio::test]
async fn an_invalid_done_file_is_reported() {
    let (run, mut aggregator, dir) = setup().await;
    fs::create_dir(dir.path().join("done")).unwrap();
    let error = end(&run, &aggregator, dir.path()).await.unwrap_err();
    assert!(matches!(error, WorkerError::Gather { source: GatherError::NotAFile { .. }, .. }), "{error:?}");
    let reported = aggregator.next("results").await.json("error");
    assert!(reported.as_str().unwrap().contains("is a directory, not a regular file: write the path"), "{reported}");
}

#[tokio::test]
async fn an_aggregator_that_does_not_know_error_documents_is_sent_nothing() {
    let run = Run::new();
    let mut aggregator = Aggregator::plain(&run).await;
    let dir = tempfile::tempdir().unwrap();
    let mut worker = WorkerProcess::start(complete("global", &run, aggregator.address, dir.path()));
    worker.says(&["does not support heartbeats"]).await;
    say_done(dir.path(), "nothing.json");
    let (code, log) = worker.end().await;
    assert_eq!(code, 1);
    assert!(log.contains("the done file names `nothing.json`, which does not exist"), "{log}");
    assert!(aggregator.rest("results").is_empty());
}
