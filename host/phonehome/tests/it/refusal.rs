//! Tests that a rejected upload costs one small request, and that the client does not wait for a
//! server without `100 Continue`.

use std::time::Duration;

use http_body_util::BodyExt as _;
use plumbline_phonehome::{Client, ClientError, Outcome, RetryPolicy, Source, Timeouts, Upload};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::harness::{Run, answer, chain, key, read_head, read_until_end, serve, serve_raw, unhurried};

const BODY_BYTES: usize = 40 << 20;

fn large() -> (tempfile::NamedTempFile, Upload) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(BODY_BYTES as u64).unwrap();
    let upload = Upload::result(Source::File(file.path().into()), "application/gzip", Some("x.tar.gz".to_owned()));
    (file, upload)
}

#[tokio::test]
async fn a_refusal_before_the_body_costs_no_byte_of_it() {
    let run = Run::new();
    for (status, closes) in
        [("403 Forbidden", true), ("403 Forbidden", false), ("409 Conflict", true), ("413 Too Large", false)]
    {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let server = serve_raw(&run, move |_, mut stream| {
            let sender = sender.clone();
            async move {
                let head = read_head(&mut stream).await.to_ascii_lowercase();
                assert!(head.contains("expect: 100-continue\r\n"), "{head}");
                assert!(head.contains(&format!("content-length: {BODY_BYTES}\r\n")), "{head}");
                let connection = if closes { "close" } else { "keep-alive" };
                let answer = format!("HTTP/1.1 {status}\r\nconnection: {connection}\r\ncontent-length: 3\r\n\r\nno\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
                sender.send(read_until_end(&mut stream).await).unwrap();
            }
        })
        .await;
        let (_file, upload) = large();
        let result = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::never()).await;
        match result {
            Ok(outcome) => assert!(status.starts_with("409") && outcome == Outcome::OtherReceived),
            Err(ClientError::Refused { status: found, body, .. }) => {
                assert!(status.starts_with(found.as_str()) && body == "no\n");
            }
            Err(other) => panic!("{status}: {}", chain(&other)),
        }
        assert_eq!(receiver.recv().await.unwrap(), 0, "bytes of the body after {status}");
    }
}

#[tokio::test]
async fn a_refusal_in_the_middle_ends_the_body() {
    let run = Run::new();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let server = serve_raw(&run, move |_, mut stream| {
        let sender = sender.clone();
        async move {
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
            let mut seen = vec![0; 1 << 20];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut seen).await.unwrap();
            stream.write_all(b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 10\r\n\r\ntoo large\n").await.unwrap();
            stream.flush().await.unwrap();
            sender.send(seen.len() + read_until_end(&mut stream).await).unwrap();
        }
    })
    .await;
    let (_file, upload) = large();
    let error = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap_err();
    match error {
        ClientError::Refused { status, body, .. } => assert_eq!((status.as_u16(), body.as_str()), (413, "too large\n")),
        other => panic!("{}", chain(&other)),
    }
    let seen = receiver.recv().await.unwrap();
    assert!(seen < BODY_BYTES, "{seen} bytes came although nobody wanted them");
}

#[tokio::test]
async fn the_body_follows_the_go_ahead() {
    let run = Run::new();
    // This server sends `100 Continue` when the body is read, and the client would wait two minutes
    // for it.
    let server = serve(&run, |_, request, _| async move {
        let mut body = request.into_body();
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame.unwrap().into_data().unwrap().len();
        }
        if bytes == BODY_BYTES { answer(200, "") } else { answer(400, "") }
    })
    .await;
    let (_file, upload) = large();
    let outcome = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap();
    assert_eq!(outcome, Outcome::Stored);
}

#[tokio::test]
async fn an_aggregator_that_never_gives_the_go_ahead_gets_the_body_all_the_same() {
    let run = Run::new();
    let server = serve_raw(&run, |_, mut stream| async move {
        read_head(&mut stream).await;
        let mut body = [0; 5];
        tokio::io::AsyncReadExt::read_exact(&mut stream, &mut body).await.unwrap();
        let status = if &body == b"hello" { "200 OK" } else { "400 Bad Request" };
        stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await.unwrap();
        read_until_end(&mut stream).await;
    })
    .await;
    let timeouts = Timeouts { go_ahead: Duration::from_millis(5), ..unhurried() };
    let client = Client::with_timeouts(&run.config("e2e", server.address), timeouts).unwrap();
    let upload = Upload::result(Source::Bytes("hello".into()), "text/plain", None);
    assert_eq!(client.put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap(), Outcome::Stored);
}

#[tokio::test]
async fn a_request_is_repeated_without_expect_after_417() {
    let run = Run::new();
    let server = serve_raw(&run, |number, mut stream| async move {
        let head = read_head(&mut stream).await.to_ascii_lowercase();
        if head.contains("expect:") {
            assert_eq!(number, 0);
            stream.write_all(b"HTTP/1.1 417 Expectation Failed\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        } else {
            let mut body = [0; 5];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut body).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
        read_until_end(&mut stream).await;
    })
    .await;
    let upload = Upload::result(Source::Bytes("hello".into()), "text/plain", None);
    let outcome = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap();
    assert_eq!((outcome, server.connections()), (Outcome::Stored, 2));
}

#[tokio::test]
async fn an_empty_result_needs_no_go_ahead() {
    let run = Run::new();
    let server = serve_raw(&run, |_, mut stream| async move {
        let head = read_head(&mut stream).await.to_ascii_lowercase();
        let status =
            if head.contains("content-length: 0\r\n") && !head.contains("expect:") { "200 OK" } else { "400 Bad" };
        stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await.unwrap();
        read_until_end(&mut stream).await;
    })
    .await;
    let upload = Upload::result(Source::Bytes("".into()), "text/plain", None);
    let outcome = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap();
    assert_eq!(outcome, Outcome::Stored);
}
