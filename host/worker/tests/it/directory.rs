//! Directories as results: packed, sent and cleaned up.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

use flate2::read::GzDecoder;
use plumbline_phonehome::Outcome;
use plumbline_worker::{Ended, GatherError, Mode, PACKED_NAME, Settings, Shutdown, Worker, WorkerError, chain};

use crate::aggregator::{Aggregator, ReceivedRequest, Run, quick, setup, soon};
use crate::delivery::{end, say_done};

/// Returns the names and contents of the members in order. A directory has no content.
fn members(heard: &ReceivedRequest) -> Vec<(String, Option<String>)> {
    let mut archive = tar::Archive::new(GzDecoder::new(&heard.body[..]));
    let member = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        if entry.header().entry_type().is_dir() {
            return (name, None);
        }
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        (name, Some(content))
    };
    archive.entries().unwrap().map(member).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn file(name: &str, content: &str) -> (String, Option<String>) {
    (name.to_owned(), Some(content.to_owned()))
}

#[tokio::test]
async fn a_directory_is_sent_as_an_archive_of_its_files() {
    let (run, mut aggregator, dir) = setup().await;
    let out = dir.path().join("out");
    fs::create_dir_all(out.join("a/empty")).unwrap();
    fs::write(out.join("a/z.txt"), "z").unwrap();
    fs::write(out.join("a-1"), "1").unwrap();
    fs::write(out.join("ünïcode and spaces"), "u").unwrap();
    symlink("/etc/passwd", out.join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(out.join("socket")).unwrap();
    say_done(dir.path(), "out/");

    assert_eq!(end(&run, &aggregator, dir.path()).await.unwrap(), Ended::Sent(Outcome::Stored));
    let heard = aggregator.next("results").await;
    assert_eq!(heard.header("content-type"), Some("application/gzip"));
    assert_eq!(heard.header("content-disposition"), Some("attachment;filename=results.tar.gz"));
    let mut expected = vec![
        ("a".to_owned(), None),
        ("a/empty".to_owned(), None),
        file("a/z.txt", "z"),
        file("a-1", "1"),
        file("plumbline-left-out.txt", "not in the results: `link` (a symbolic link)\n"),
        file("ünïcode and spaces", "u"),
    ];
    let mut members = members(&heard);
    expected.sort();
    members.sort();
    assert_eq!(members, expected);
    assert_eq!(names(&out), ["a", "a-1", "link", "socket", "ünïcode and spaces"]);
}

#[tokio::test]
async fn the_results_directory_itself_is_sent_without_the_done_file() {
    let (run, mut aggregator, dir) = setup().await;
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("x.json"), "{}").unwrap();
    // Files of the plugin, although the archive is sent under this name.
    fs::write(dir.path().join(PACKED_NAME), "own").unwrap();
    fs::write(dir.path().join("sub").join(PACKED_NAME), "mine").unwrap();
    let named = dir.path().to_str().unwrap().to_owned();
    say_done(dir.path(), &named);
    for _ in 0..2 {
        end(&run, &aggregator, dir.path()).await.unwrap();
        let mut members = members(&aggregator.next("results").await);
        members.sort();
        let expected = [
            file("results.tar.gz", "own"),
            ("sub".to_owned(), None),
            file("sub/results.tar.gz", "mine"),
            file("x.json", "{}"),
        ];
        assert_eq!(members, expected);
    }
    assert_eq!(names(dir.path()), ["done", PACKED_NAME, "sub", "x.json"]);
    assert_eq!(fs::read_to_string(dir.path().join(PACKED_NAME)).unwrap(), "own");
}

#[tokio::test]
async fn a_link_with_the_name_of_the_archive_is_not_followed() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("results");
    fs::create_dir(&dir).unwrap();
    fs::write(outer.path().join("precious"), "precious").unwrap();
    symlink(outer.path().join("precious"), dir.join(PACKED_NAME)).unwrap();
    fs::write(dir.join("x.json"), "{}").unwrap();
    say_done(&dir, ".");
    end(&run, &aggregator, &dir).await.unwrap();
    let lost = file("plumbline-left-out.txt", "not in the results: `results.tar.gz` (a symbolic link)\n");
    assert_eq!(members(&aggregator.next("results").await), [file("x.json", "{}"), lost]);
    assert_eq!(fs::read_to_string(outer.path().join("precious")).unwrap(), "precious");
    assert!(dir.join(PACKED_NAME).symlink_metadata().unwrap().is_symlink());
}

#[tokio::test]
async fn a_directory_that_is_too_large_when_packed_is_reported_and_leaves_nothing_behind() {
    let (run, mut aggregator, dir) = setup().await;
    // These numbers do not repeat, so their archive far exceeds the limit.
    let content: Vec<u8> = (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(dir.path().join("large.bin"), content).unwrap();
    say_done(dir.path(), ".");
    let settings = Settings { archive_bytes: 10_000, ..quick() };
    let worker = Worker::new(run.config(aggregator.address, dir.path()), Mode::Global { sleep: 0 }, settings).unwrap();
    let error = soon("the end", worker.run(Shutdown::new())).await.unwrap_err();
    assert!(matches!(error, WorkerError::Gather { source: GatherError::Pack(..), .. }), "{error:?}");
    assert!(chain(&error).contains("10000 bytes"), "{}", chain(&error));
    let heard = aggregator.next("results").await;
    assert_eq!(heard.header("x-plumbline-error"), Some("true"));
    assert!(heard.json("error").as_str().unwrap().contains("10000 bytes"));
    assert_eq!(names(dir.path()), ["done", "large.bin"]);
}

#[tokio::test]
async fn a_directory_with_the_name_of_the_archive_is_sent() {
    let (run, mut aggregator, dir) = setup().await;
    fs::create_dir(dir.path().join(PACKED_NAME)).unwrap();
    say_done(dir.path(), ".");
    assert_eq!(end(&run, &aggregator, dir.path()).await.unwrap(), Ended::Sent(Outcome::Stored));
    assert_eq!(members(&aggregator.next("results").await), [(PACKED_NAME.to_owned(), None)]);
    assert_eq!(names(dir.path()), ["done", PACKED_NAME]);
}

#[tokio::test]
async fn packing_ends_when_the_worker_is_terminated() {
    let (run, mut aggregator, dir) = setup().await;
    // Packing this file takes minutes.
    File::create(dir.path().join("endless.bin")).unwrap().set_len(1 << 40).unwrap();
    say_done(dir.path(), ".");
    let shutdown = Shutdown::new();
    let worker = tokio::spawn(run.worker(aggregator.address, dir.path()).run(shutdown.clone()));
    while aggregator.next("heartbeat").await.json("phase") != "uploading" {}
    soon("an archive that is being written", async {
        while names(dir.path()).len() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    shutdown.now();
    let error = soon("the end", worker).await.unwrap().unwrap_err();
    assert!(matches!(error, WorkerError::CutOff { .. }), "{error:?}");
    soon("the end of the packing", async {
        while names(dir.path()).len() > 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(names(dir.path()), ["done", "endless.bin"]);
    assert!(aggregator.rest("results").is_empty());
}
