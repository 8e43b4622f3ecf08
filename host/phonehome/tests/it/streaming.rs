//! Tests that results are streamed from disk without loading them into memory, and that partial
//! ones never look complete.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use http_body_util::BodyExt as _;
use plumbline_phonehome::{ClientError, Outcome, RetryPolicy, Source, Upload};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::harness::{Run, answer, chain, key, read_head, read_until_end, serve, serve_raw};

const MIB: u64 = 1 << 20;

/// Returns a value in kB from the kernel's statistics of this process.
fn memory_kb(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn upload(path: &Path) -> Upload {
    Upload::result(Source::File(path.into()), "application/octet-stream", Some("large".to_owned()))
}

#[tokio::test]
async fn two_hundred_megabytes_pass_through_little_memory() {
    const LENGTH: u64 = 200 * MIB;

    let run = Run::new();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LENGTH).unwrap();
    // Every mebibyte starts with its own number, so that reordered, duplicate and missing data is
    // detected.
    for number in 0..LENGTH / MIB {
        file.seek(SeekFrom::Start(number * MIB)).unwrap();
        file.write_all(&number.to_be_bytes()).unwrap();
    }
    file.flush().unwrap();

    let server = serve(&run, |_, request, _| async move {
        let mut body = request.into_body();
        let mut at: u64 = 0;
        let mut number = Vec::new();
        let mut numbers: u64 = 0;
        while let Some(frame) = body.frame().await {
            for byte in frame.unwrap().into_data().unwrap() {
                if at % MIB < 8 {
                    number.push(byte);
                }
                at += 1;
                if at % MIB == 8 {
                    let expected = (at / MIB).to_be_bytes();
                    numbers += u64::from(number == expected);
                    number.clear();
                }
            }
        }
        if (at, numbers) == (LENGTH, LENGTH / MIB) { answer(200, "") } else { answer(400, "not what was sent\n") }
    })
    .await;

    let client = run.client(server.address);
    // This resets the peak. A kernel without support for it counts from the start of the process,
    // which is stricter.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = memory_kb("VmRSS:");
    let outcome = client.put_result(&key(), &upload(file.path()), &RetryPolicy::never()).await.unwrap();
    assert_eq!(outcome, Outcome::Stored);
    // Both ends and the other tests are in this process, and together use a few MiB.
    let grown = memory_kb("VmHWM:").saturating_sub(before);
    assert!(grown < 60 * 1024, "memory grew by {grown} kB");
}

#[tokio::test]
async fn an_upload_that_is_dropped_ends_and_is_not_complete() {
    const LENGTH: u64 = 64 * MIB;

    let run = Run::new();
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let server = serve_raw(&run, move |_, mut stream| {
        let (begun, sender) = (begun.clone(), sender.clone());
        async move {
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
            let mut piece = vec![0; 1 << 20];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut piece).await.unwrap();
            begun.send(()).unwrap();
            sender.send(piece.len() + read_until_end(&mut stream).await).unwrap();
        }
    })
    .await;
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LENGTH).unwrap();
    let client = run.client(server.address);
    let (key, large, never) = (key(), upload(file.path()), RetryPolicy::never());
    tokio::select! {
        result = client.put_result(&key, &large, &never) => panic!("{result:?}"),
        () = async { has_begun.recv().await.unwrap() } => {}
    }
    // The future and its connection are gone. The rest never arrives, and the server notices that.
    let seen = receiver.recv().await.unwrap() as u64;
    assert!(seen < LENGTH, "{seen} bytes of an upload that was dropped");
}

#[tokio::test]
async fn a_file_that_changes_under_way_never_looks_complete() {
    for grows in [true, false] {
        let run = Run::new();
        let length = 5 * MIB;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(length).unwrap();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let path = file.path().to_owned();
        let server = serve_raw(&run, move |_, mut stream| {
            let (sender, path) = (sender.clone(), path.clone());
            async move {
                let head = read_head(&mut stream).await.to_ascii_lowercase();
                assert!(head.contains(&format!("content-length: {}\r\n", 5 * MIB)), "{head}");
                let changed = fs::File::options().write(true).open(&path).unwrap();
                changed.set_len(if grows { 6 * MIB } else { 4 * MIB }).unwrap();
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
                sender.send(read_until_end(&mut stream).await).unwrap();
            }
        })
        .await;
        let error = run
            .client(server.address)
            .put_result(&key(), &upload(file.path()), &RetryPolicy::never())
            .await
            .unwrap_err();
        assert!(matches!(&error, ClientError::SourceChanged { length: 5_242_880, .. }), "{}", chain(&error));
        assert_eq!(error.hint(), Some("write the done file only when the result is complete"));
        let seen = receiver.recv().await.unwrap() as u64;
        assert!(seen < length, "{seen} of {length} bytes came");
    }
}

#[tokio::test]
async fn a_missing_file_causes_no_request() {
    let run = Run::new();
    let server = serve(&run, |_, _, _| async { answer(200, "") }).await;
    let missing = Path::new("/nonexistent/result");
    let error =
        run.client(server.address).put_result(&key(), &upload(missing), &RetryPolicy::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "read `/nonexistent/result`");
    assert_eq!((server.connections(), error.is_temporary()), (0, false));
}

#[tokio::test]
async fn many_uploads_of_one_client_go_side_by_side() {
    const UPLOADS: usize = 32;

    let run = Run::new();
    // No upload gets a response before all of them are complete.
    let all = std::sync::Arc::new(tokio::sync::Barrier::new(UPLOADS));
    let server = serve(&run, move |_, request, _| {
        let all = std::sync::Arc::clone(&all);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            all.wait().await;
            if body.len() == 100_000 { answer(200, "") } else { answer(400, "") }
        }
    })
    .await;
    let client = run.client(server.address);
    let mut uploads = tokio::task::JoinSet::new();
    for number in 0..UPLOADS {
        let client = client.clone();
        uploads.spawn(async move {
            let node = format!("worker-{number}").parse().unwrap();
            let key = plumbline_phonehome::ResultKey::new("e2e".parse().unwrap(), node);
            let upload = Upload::result(Source::Bytes(vec![7; 100_000].into()), "", None);
            client.put_result(&key, &upload, &RetryPolicy::never()).await.unwrap()
        });
    }
    assert_eq!(uploads.join_all().await, [Outcome::Stored; UPLOADS]);
}
