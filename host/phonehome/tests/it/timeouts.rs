//! Tests with servers that stall: each wait has its own timeout, and the error says what the client
//! waited for.

use std::time::Duration;

use plumbline_phonehome::{Client, ClientError, RetryPolicy, Source, Stage, Timeouts, Upload};
use tokio::io::AsyncWriteExt as _;

use crate::harness::{Run, Served, chain, key, read_head, read_until_end, serve_raw, serve_tcp, unhurried};

/// A short timeout, because the awaited event never happens.
const SHORT: Duration = Duration::from_millis(60);

fn client(run: &Run, server: &Served, timeouts: Timeouts) -> Client {
    Client::with_timeouts(&run.config("e2e", server.address), timeouts).unwrap()
}

fn upload() -> Upload {
    Upload::result(Source::Bytes("hello".into()), "", None)
}

fn assert_timeout(error: &ClientError, expected: Stage, words: &str) {
    match error {
        ClientError::Timeout { stage, after, .. } => assert_eq!((*stage, *after), (expected, SHORT)),
        other => panic!("{}", chain(other)),
    }
    assert!(error.to_string().starts_with(words), "{error}");
    assert!(error.is_temporary() && error.hint().is_some());
}

#[tokio::test]
async fn a_server_that_does_not_speak() {
    let run = Run::new();
    let server = serve_tcp(|_, mut stream| async move {
        read_until_end(&mut stream).await;
    })
    .await;
    let client = client(&run, &server, Timeouts { tls: SHORT, ..unhurried() });
    let error = client.put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
    assert_timeout(
        &error,
        Stage::Handshake,
        &format!("complete the TLS handshake with {}: no progress for 60ms", server.address),
    );
}

#[tokio::test]
async fn a_server_that_does_not_read() {
    let run = Run::new();
    let server = serve_raw(&run, |_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
        stream.flush().await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let client = client(&run, &server, Timeouts { idle: SHORT, ..unhurried() });
    let file = tempfile::NamedTempFile::new().unwrap();
    // More than the kernel buffers of both ends can hold.
    file.as_file().set_len(64 << 20).unwrap();
    let large = Upload::result(Source::File(file.path().into()), "", None);
    let error = client.put_result(&key(), &large, &RetryPolicy::never()).await.unwrap_err();
    assert_timeout(&error, Stage::Sending, &format!("send to {}: no progress for 60ms", server.address));
}

#[tokio::test]
async fn a_server_that_does_not_answer() {
    let run = Run::new();
    let server = serve_raw(&run, |_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
        read_until_end(&mut stream).await;
    })
    .await;
    let patient = client(&run, &server, Timeouts { upload_answer: SHORT, ..unhurried() });
    let error = patient.put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
    assert_timeout(&error, Stage::Answer, &format!("get an answer from {}: no progress for 60ms", server.address));

    let messenger = client(&run, &server, Timeouts { message_answer: SHORT, ..unhurried() });
    let error = messenger.post_progress(&key(), "{}".into()).await.unwrap_err();
    assert_timeout(&error, Stage::Answer, "get an answer from");
}

#[tokio::test]
async fn a_response_that_never_ends_times_out() {
    let run = Run::new();
    for beginning in ["HTTP/1.1 200 OK\r\nx-more: ", "HTTP/1.1 500 Oh\r\ncontent-length: 1000000\r\n\r\nand"] {
        let server = serve_raw(&run, move |_, mut stream| async move {
            read_head(&mut stream).await;
            stream.write_all(beginning.as_bytes()).await.unwrap();
            read_until_end(&mut stream).await;
        })
        .await;
        let client = client(&run, &server, Timeouts { message_answer: SHORT, ..unhurried() });
        let error = client.post_progress(&key(), "{}".into()).await.unwrap_err();
        assert_timeout(&error, Stage::Answer, "get an answer from");
    }
}
