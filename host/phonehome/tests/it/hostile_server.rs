//! Tests for responses that are endless, invalid, or redirect elsewhere.

use plumbline_phonehome::{ClientError, MAX_ANSWER_BYTES, RetryPolicy, Source, Upload};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::harness::{Run, Stream, chain, key, read_head, serve_raw};

/// More than all buffers on the way can hold.
const ENDLESS: usize = 64 << 20;

fn upload() -> Upload {
    Upload::result(Source::Bytes("hello".into()), "", None)
}

/// Writes `text` repeatedly until the connection closes. Returns the number of bytes written, at
/// most [`ENDLESS`].
async fn flood(stream: &mut Stream, text: &[u8]) -> usize {
    let piece = text.repeat((16 << 10) / text.len());
    let mut written = 0;
    while written < ENDLESS && stream.write_all(&piece).await.is_ok() {
        written += piece.len();
    }
    written
}

/// Starts a server that responds with `beginning` and then `text` repeatedly, and reports how much
/// of it was accepted.
async fn flooding(
    run: &Run,
    beginning: &'static str,
    text: &'static [u8],
) -> (crate::harness::Served, mpsc::UnboundedReceiver<usize>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let server = serve_raw(run, move |_, mut stream| {
        let sender = sender.clone();
        async move {
            read_head(&mut stream).await;
            stream.write_all(beginning.as_bytes()).await.unwrap();
            sender.send(flood(&mut stream, text).await).unwrap();
        }
    })
    .await;
    (server, receiver)
}

#[tokio::test]
async fn a_head_without_end_is_not_read_to_the_end() {
    let run = Run::new();
    for (beginning, text) in [
        ("HTTP/1.1 200 OK\r\n", &b"x-more: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"[..]),
        ("HTTP/1.1 200 OK\r\nx-long: ", b"a"),
        ("HTTP/1.1 200 ", b"O"),
    ] {
        let (server, mut receiver) = flooding(&run, beginning, text).await;
        let error = run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
        assert!(matches!(&error, ClientError::Transport { .. }), "{beginning:?}: {}", chain(&error));
        let taken = receiver.recv().await.unwrap();
        assert!(taken < ENDLESS, "{beginning:?}: {taken} bytes were taken");
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let run = Run::new();
    for beginning in [
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 1000000000000\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n",
    ] {
        let (server, mut receiver) = flooding(&run, beginning, b"no ").await;
        match run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err() {
            error @ ClientError::Refused { .. } => {
                let shown = error.to_string();
                assert!(shown.len() < 500 && shown.ends_with("no no no no no …"), "{shown}");
                let ClientError::Refused { body, .. } = error else { unreachable!() };
                assert_eq!(body.len(), MAX_ANSWER_BYTES);
            }
            other => panic!("{}", chain(&other)),
        }
        let taken = receiver.recv().await.unwrap();
        assert!(taken < ENDLESS, "{taken} bytes were taken");
    }
    let (server, _receiver) = flooding(&run, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", b"yes ").await;
    let answer = run.client(server.address).post_progress(&key(), "{}".into()).await.unwrap();
    assert!(answer.status.is_success() && answer.body.len() == MAX_ANSWER_BYTES);
}

/// Starts a server that responds with these exact bytes and then closes the connection.
async fn answering(run: &Run, text: &'static [u8]) -> crate::harness::Served {
    serve_raw(run, move |_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(text).await.unwrap();
        stream.shutdown().await.unwrap();
    })
    .await
}

#[tokio::test]
async fn an_invalid_http_response_is_a_temporary_error() {
    let run = Run::new();
    for text in [
        &b"SSH-2.0-OpenSSH_9.9\r\n"[..],
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"HTTP/1.1 99 Low\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: minus\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"",
    ] {
        let server = answering(&run, text).await;
        let error = run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
        assert!(
            matches!(&error, ClientError::Transport { .. }),
            "{:?}: {}",
            text.escape_ascii().to_string(),
            chain(&error)
        );
        assert!(
            error.is_temporary() && chain(&error).starts_with("exchange HTTP messages with 127.0.0.1:"),
            "{}",
            chain(&error)
        );
    }
}

#[tokio::test]
async fn the_status_counts_even_if_the_words_break_off() {
    let run = Run::new();
    let server = answering(&run, b"HTTP/1.1 403 Forbidden\r\ncontent-length: 1000\r\n\r\nthis result is").await;
    match run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err() {
        ClientError::Refused { status, body, .. } => {
            assert_eq!((status.as_u16(), body.as_str()), (403, "this result is"))
        }
        other => panic!("{}", chain(&other)),
    }
}

#[tokio::test]
async fn words_of_the_other_side_cannot_steer_a_terminal() {
    let run = Run::new();
    let server =
        answering(&run, b"HTTP/1.1 403 Forbidden\r\ncontent-length: 17\r\n\r\n\x1b[2J\x1b]0;x\x07 \xff\r\nno\n").await;
    let error = run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
    assert!(!chain(&error).chars().any(char::is_control), "{:?}", chain(&error));
    assert!(error.to_string().ends_with("no"), "{error}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let run = Run::new();
    let elsewhere = serve_raw(&run, |_, _| async {}).await;
    let location = elsewhere.address;
    for status in [301, 302, 303, 307, 308] {
        let server = serve_raw(&run, move |_, mut stream| async move {
            read_head(&mut stream).await;
            let answer = format!("HTTP/1.1 {status} Moved\r\nlocation: https://{location}/api/v1/results/global/e2e\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            crate::harness::read_until_end(&mut stream).await;
        })
        .await;
        let error =
            run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::default()).await.unwrap_err();
        assert!(
            matches!(&error, ClientError::Refused { status: found, .. } if found.as_u16() == status),
            "{}",
            chain(&error)
        );
        assert_eq!((server.connections(), elsewhere.connections()), (1, 0), "{status}");
    }
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let run = Run::new();
    let server = answering(
        &run,
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    let outcome = run.client(server.address).put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap();
    assert_eq!(outcome, plumbline_phonehome::Outcome::OtherReceived);
}
