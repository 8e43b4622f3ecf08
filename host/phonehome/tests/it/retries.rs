//! Tests for which requests are retried, how often, and which are not.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use http::header::{HeaderValue, RETRY_AFTER};
use http_body_util::{BodyExt as _, Full};
use plumbline_phonehome::{Client, ClientError, Outcome, RetryPolicy, Source, Upload};

use crate::harness::{Run, answer, chain, key, no_patience, quick, serve, serve_raw, serve_tcp};

fn upload() -> Upload {
    Upload::result(Source::Bytes("hello".into()), "text/plain", None)
}

fn busy(wish: &'static str) -> Response<Full<Bytes>> {
    let mut response = answer(503, "busy\n");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(wish));
    response
}

#[tokio::test]
async fn an_upload_is_sent_again_in_full_until_it_is_taken() {
    let run = Run::new();
    let bodies: Arc<Mutex<Vec<Bytes>>> = Arc::default();
    let server = serve(&run, {
        let bodies = Arc::clone(&bodies);
        move |number, request, _| {
            let bodies = Arc::clone(&bodies);
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                bodies.lock().unwrap().push(body);
                match number {
                    0 => answer(500, "disk\n"),
                    1 => answer(503, ""),
                    2 => answer(408, ""),
                    3 => answer(429, ""),
                    4 => answer(507, ""),
                    _ => answer(200, ""),
                }
            }
        }
    })
    .await;
    let outcome = run.client(server.address).put_result(&key(), &upload(), &quick()).await.unwrap();
    assert_eq!((outcome, server.connections()), (Outcome::Stored, 6));
    assert_eq!(bodies.lock().unwrap().as_slice(), [const { Bytes::from_static(b"hello") }; 6]);
}

#[tokio::test]
async fn a_connection_that_is_cut_is_tried_again() {
    let run = Run::new();
    // Interrupted before TLS, after TLS, and in the head of the response, always before the
    // aggregator could respond.
    let acceptor =
        tokio_rustls::TlsAcceptor::from(Arc::new(plumbline_phonehome::server_config(&run.ca, &run.server).unwrap()));
    let server = serve_tcp(move |number, stream| {
        let acceptor = acceptor.clone();
        async move {
            use tokio::io::AsyncWriteExt as _;
            if number == 0 {
                return;
            }
            let mut stream = acceptor.accept(stream).await.unwrap();
            if number == 1 {
                return;
            }
            crate::harness::read_head(&mut stream).await;
            let text: &[u8] = match number {
                2 => b"",
                3 => b"HTTP/1.1 20",
                4 => b"HTTP/1.1 200 OK\r\ncontent-le",
                _ => b"HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n",
            };
            stream.write_all(text).await.unwrap();
            stream.flush().await.unwrap();
        }
    })
    .await;
    let outcome = run.client(server.address).put_result(&key(), &upload(), &quick()).await.unwrap();
    // Whether the client has sent its body before the connection was cut depends on the time.
    assert!(matches!(outcome, Outcome::AlreadyReceived | Outcome::OtherReceived), "{outcome:?}");
    assert_eq!(server.connections(), 6);
}

#[tokio::test]
async fn permanent_rejections_are_not_retried() {
    let run = Run::new();
    for status in [301, 307, 400, 401, 403, 404, 405, 411, 413, 415] {
        let server = serve(&run, move |_, _, _| async move { answer(status, "because\n") }).await;
        let error = run.client(server.address).put_result(&key(), &upload(), &quick()).await.unwrap_err();
        assert!(!error.is_temporary(), "{status}");
        match error {
            ClientError::Refused { status: found, body, .. } => {
                assert_eq!((found.as_u16(), body.as_str()), (status, "because\n"));
            }
            other => panic!("{status}: {}", chain(&other)),
        }
        assert_eq!(server.connections(), 1, "{status}");
    }
}

#[tokio::test]
async fn it_gives_up_at_the_deadline_with_the_last_reason() {
    let run = Run::new();
    let server = serve(&run, |_, _, _| async { answer(500, "no space left on device\n") }).await;
    let error = run.client(server.address).put_result(&key(), &upload(), &no_patience()).await.unwrap_err();
    match &error {
        ClientError::GaveUp { attempts, elapsed, last } => {
            assert_eq!(*attempts as usize, server.connections());
            assert!(*attempts >= 2 && *elapsed >= no_patience().deadline, "{attempts} in {elapsed:?}");
            assert!(last.to_string().ends_with("500 Internal Server Error: no space left on device"), "{last}");
        }
        other => panic!("{}", chain(other)),
    }
    assert!(!error.is_temporary());
    assert_eq!(error.hint(), Some("check the log and the disk of the aggregator"));
}

#[tokio::test]
async fn an_aggregator_that_is_not_there_is_waited_for_until_the_deadline() {
    let run = Run::new();
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let client = run.client(address);
    let error = client.put_result(&key(), &upload(), &no_patience()).await.unwrap_err();
    match &error {
        ClientError::GaveUp { attempts, last, .. } => {
            assert!(*attempts >= 2);
            assert!(matches!(last.as_ref(), ClientError::Connect { attempts, .. } if attempts.len() == 1));
        }
        other => panic!("{}", chain(other)),
    }
    assert!(
        chain(&error).contains(&format!("connect to {address}: {address}: Connection refused")),
        "{}",
        chain(&error)
    );

    let error = client.put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
    assert!(matches!(error, ClientError::Connect { .. }), "one attempt gives its own reason");
    let error = client.post_progress(&key(), "{}".into()).await.unwrap_err();
    assert!(matches!(error, ClientError::Connect { .. }));
}

#[tokio::test]
async fn a_name_without_an_address_is_named() {
    let run = Run::new();
    let mut config = run.config("e2e", "127.0.0.1:1".parse().unwrap());
    // Reserved for names that do not exist (RFC 6761, section 6.4).
    config.aggregator_url = "https://aggregator.invalid:8080".to_owned();
    let error = Client::new(&config).unwrap().put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
    assert_eq!(error.to_string(), "resolve `aggregator.invalid`");
    assert!(error.is_temporary());
}

#[tokio::test]
async fn the_aggregator_may_ask_for_a_pause() {
    let run = Run::new();
    let server = serve(&run, |number, _, _| async move { if number == 0 { busy("1") } else { answer(409, "") } }).await;
    let begun = Instant::now();
    run.client(server.address).put_result(&key(), &upload(), &quick()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1), "the pause of the policy is a few milliseconds");
}

#[tokio::test]
async fn a_pause_never_goes_beyond_the_deadline() {
    let run = Run::new();
    // An hour, a date long ago, and garbage: none of them may delay the client beyond its deadline.
    for wish in ["3600", "99999999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT", "soon"] {
        let server = serve(&run, move |_, _, _| async move { busy(wish) }).await;
        let error = run.client(server.address).put_result(&key(), &upload(), &no_patience()).await.unwrap_err();
        match error {
            ClientError::GaveUp { attempts, elapsed, .. } => {
                assert!(attempts >= 2 && elapsed < Duration::from_secs(3000), "{wish}: {attempts} in {elapsed:?}");
            }
            other => panic!("{wish}: {}", chain(&other)),
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_too_early_is_not_believed() {
    use tokio::io::AsyncWriteExt as _;

    let run = Run::new();
    let server = serve_raw(&run, |number, mut stream| async move {
        crate::harness::read_head(&mut stream).await;
        if number == 0 {
            // Reports a result as stored that it has not received.
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        } else {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
            let mut body = [0; 5];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut body).await.unwrap();
            assert_eq!(&body, b"hello");
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
        crate::harness::read_until_end(&mut stream).await;
    })
    .await;
    let client = run.client(server.address);
    let error = client.put_result(&key(), &upload(), &RetryPolicy::never()).await.unwrap_err();
    assert!(matches!(error, ClientError::AnsweredTooEarly { sent: 0, length: 5, .. }), "{}", chain(&error));
    assert!(error.is_temporary());
    assert_eq!(client.put_result(&key(), &upload(), &quick()).await.unwrap(), Outcome::Stored);
}
