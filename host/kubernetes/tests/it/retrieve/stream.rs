//! Retrieval from images that do not support pieces.

use std::fs;

use plumbline_dev::ExecReply;
use plumbline_kubernetes::retrieve::{RetrieveError, Stage};

use super::bed::{ARCHIVE, Bed, bytes, complete, only_splat, queue};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_enough() {
    let data = bytes(2_000_000);
    let bed = Bed::new(&complete(&data)).await;
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    fs::write(bed.pod().join("202611201301_sonobuoy_y.tar.gz"), b"second").unwrap();
    let cuts = queue(&[500_000, 0]);
    bed.on_exec(move |dir, words| {
        let cut_after = if words[1] == "splat" { cuts.lock().unwrap().pop() } else { None };
        let mut reply = only_splat(dir, words);
        if words[1] == "splat" {
            // Anything after the end of the stream is ignored.
            reply.stdout.extend_from_slice(b"\0\0noise");
        }
        ExecReply { cut_after, ..reply }
    });
    let mut options = bed.options();
    options.file_name = Some("mine.tar.gz".into());
    let (result, events) = bed.retrieve(&options).await;
    let retrieved = result.unwrap();
    assert_eq!(retrieved.iter().map(|archive| archive.as_status_says).collect::<Vec<_>>(), [true, false]);
    assert!(fs::read(&retrieved[0].path).unwrap() == data);
    assert_eq!(bed.downloaded_files(), ["mine-01.tar.gz", "mine.tar.gz"]);
    assert_eq!(events.iter().filter(|line| line.starts_with("Again")).count(), 2, "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_archive_nothing_is_downloaded_and_a_failed_command_is_reported() {
    let bed = Bed::new(&complete(b"x")).await;
    bed.on_exec(only_splat);
    assert_eq!(bed.retrieve(&bed.options()).await.0.unwrap_err().stage(), Stage::NotReady);
    bed.on_exec(|dir, words| {
        let reply = only_splat(dir, words);
        ExecReply { stderr: reply.stderr, exit_code: 1, ..ExecReply::default() }
    });
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert!(matches!(error, RetrieveError::Command { code: 1, .. }), "{error}");
    assert_eq!(error.stage(), Stage::SetUp);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_with_another_digest_is_refused_and_kept_aside() {
    let bed = Bed::new(&complete(b"another")).await;
    fs::write(bed.pod().join(ARCHIVE), b"this").unwrap();
    bed.on_exec(only_splat);
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert!(matches!(&error, RetrieveError::Wrong { aside: Some(_), .. }), "{error}");
    assert_eq!(bed.downloaded_files(), [format!("{ARCHIVE}.damaged")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_beyond_such_an_image() {
    let bed = Bed::new(&complete(b"x")).await;
    bed.on_exec(only_splat);
    assert!(matches!(bed.snapshot().await, Err(RetrieveError::Unknown(_))));
    assert!(bed.downloaded_files().is_empty());
}
