//! Tests of `PUT` to an HTTP server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use plumbline_aggregator::deliver::{DeliverError, Destination};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::deliver::archive;

/// Path, authorization and body of a request.
type Taken = (String, Option<String>, Vec<u8>);

#[derive(Clone, Default)]
struct Seen {
    requests: Arc<AtomicU32>,
    bodies: Arc<Mutex<Vec<Taken>>>,
}

async fn body(body: Body) -> Vec<u8> {
    let mut stream = body.into_data_stream();
    let mut all = Vec::new();
    while let Some(piece) = stream.next().await {
        all.extend_from_slice(&piece.unwrap());
    }
    all
}

/// Starts a server that answers with `codes` one after another, and then with 201.
async fn server(codes: &'static [u16]) -> (String, Seen) {
    let seen = Seen::default();
    let kept = seen.clone();
    let handler = move |request: Request| {
        let seen = kept.clone();
        async move {
            let at = seen.requests.fetch_add(1, Ordering::Relaxed) as usize;
            let (parts, content) = request.into_parts();
            let content = body(content).await;
            if let Some(code) = codes.get(at) {
                return (StatusCode::from_u16(*code).unwrap(), "not now").into_response();
            }
            let authorization = parts.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
            seen.bodies.lock().unwrap().push((parts.uri.path().to_owned(), authorization, content));
            StatusCode::CREATED.into_response()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
    (url, seen)
}

#[tokio::test]
async fn the_whole_archive_arrives_after_a_failure_that_passes() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, content) = archive(dir.path(), 300_000);
    let (url, seen) = server(&[503]).await;
    let mut settings = BTreeMap::from([("HTTP_AUTHORIZATION".to_owned(), "Bearer token".to_owned())]);
    let error = Destination::parse(&format!("{url}/audits/"), &settings).unwrap_err().to_string();
    assert!(error.contains("over plain HTTP") && !error.contains("Bearer token"), "{error}");
    settings.insert("HTTP_ALLOW_HTTP".to_owned(), "true".to_owned());
    let destination = Destination::parse(&format!("{url}/audits/"), &settings).unwrap();
    assert_eq!(destination.deliver(&archive).await.unwrap(), format!("{url}/audits/run.tar.gz"));
    let bodies = seen.bodies.lock().unwrap();
    assert_eq!(bodies.len(), 1);
    assert_eq!(bodies[0], ("/audits/run.tar.gz".to_owned(), Some("Bearer token".to_owned()), content));
}

#[tokio::test]
async fn a_refusal_is_reported_at_once_with_the_servers_message() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, _) = archive(dir.path(), 10);
    let (url, seen) = server(&[403]).await;
    let destination = Destination::parse(&format!("{url}/x.tar.gz"), &BTreeMap::new()).unwrap();
    let error = destination.deliver(&archive).await.unwrap_err();
    assert!(error.to_string().contains("403") && error.to_string().contains("not now"), "{error}");
    assert!(
        error.to_string().contains("/x.tar.gz"),
        "a path that does not end with a slash is taken as it is: {error}"
    );
    assert_eq!(seen.requests.load(Ordering::Relaxed), 1);
    assert!(error.to_string().contains("(1 attempt)"), "{error}");
}

#[tokio::test]
async fn an_error_response_without_end_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, _) = archive(dir.path(), 10);
    let handler = |request: Request| async move {
        body(request.into_body()).await;
        let pieces = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>("not here "));
        (StatusCode::FORBIDDEN, Body::from_stream(pieces)).into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
    let delivered = Destination::parse(&url, &BTreeMap::new()).unwrap();
    let delivered = tokio::time::timeout(crate::harness::PATIENCE, delivered.deliver(&archive)).await;
    let error = delivered.expect("the whole response is read").unwrap_err().to_string();
    assert!(error.contains("403 Forbidden not here not here") && error.len() < 500, "{error}");
}

#[tokio::test]
async fn a_failed_upload_is_reported_with_the_number_of_attempts() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, _) = archive(dir.path(), 10);
    let (url, seen) = server(&[503, 403]).await;
    let error = Destination::parse(&url, &BTreeMap::new()).unwrap().deliver(&archive).await.unwrap_err();
    assert!(error.to_string().contains("(2 attempts)"), "{error}");
    assert_eq!(seen.requests.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_success_before_the_whole_archive_was_sent_does_not_count() {
    let dir = tempfile::tempdir().unwrap();
    // More than the buffers of a connection hold.
    let (archive, content) = archive(dir.path(), 64 << 20);
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let handler = move |request: Request| {
        let kept = Arc::clone(&kept);
        async move {
            let content = body(request.into_body()).await;
            kept.lock().unwrap().push(content);
            StatusCode::CREATED
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x.tar.gz", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut early, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            early.read_buf(&mut head).await.unwrap();
        }
        early.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        axum::serve(listener, Router::new().fallback(handler)).await.unwrap();
        drop(early);
    });
    Destination::parse(&url, &BTreeMap::new()).unwrap().deliver(&archive).await.unwrap();
    let bodies = bodies.lock().unwrap();
    assert!(bodies.len() == 1 && bodies[0] == content, "{} bodies", bodies.len());
}

#[tokio::test]
async fn an_archive_that_is_gone_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, _) = archive(dir.path(), 10);
    std::fs::remove_file(&archive.path).unwrap();
    let (url, _) = server(&[]).await;
    let error = Destination::parse(&url, &BTreeMap::new()).unwrap().deliver(&archive).await.unwrap_err();
    assert!(matches!(&error, DeliverError::Read { path, .. } if path.contains("run.tar.gz")), "{error}");
}
