//! Tests with busy registries and interrupted connections.

use plumbline_registry::{Cause, Descriptor, media};

use crate::double::{Double, answer};
use crate::{client, file, reference};

const TEXT: &str = r#"{"schemaVersion":2,"manifests":[]}"#;

#[tokio::test]
async fn a_busy_registry_is_asked_again() {
    let server = Double::start(|_, _, before| match before {
        0 => answer(429, &[("retry-after", "0")], ""),
        1 => answer(503, &[], ""),
        _ => answer(200, &[], TEXT),
    })
    .await;
    client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].agent, format!("plumbline/{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(seen[0].path, "/v2/n/manifests/1");
}

#[tokio::test]
async fn one_that_stays_busy_is_given_up_and_named() {
    let server = Double::start(|_, _, _| answer(429, &[], r#"{"errors":[{"code":"TOOMANYREQUESTS"}]}"#)).await;
    let error = client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Status { status: 429, .. }), "{error:?}");
    assert!(error.cause.to_string().contains("TOOMANYREQUESTS") && error.hint().unwrap().contains("later"));
    assert_eq!(server.seen().len(), 3);
    // A permanent error is not retried.
    let server = Double::start(|_, _, _| answer(404, &[], "")).await;
    client(&server.host).manifest(&reference(&server.host, "n:1")).await.unwrap_err();
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_interrupted_download_is_restarted() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234".to_vec();
    let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789".to_vec();
    let wanted = Descriptor::of(media::WASM, b"0123456789");
    let server = Double::raw(vec![Vec::new(), cut.clone(), whole]).await;
    let blob = client(&server.host).blob(&reference(&server.host, "n"), &wanted).await.unwrap();
    assert_eq!(std::fs::read(blob.path()).unwrap(), b"0123456789");
    let server = Double::raw(vec![cut]).await;
    let error = client(&server.host).blob(&reference(&server.host, "n"), &wanted).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Connection(_)), "{error:?}");
}

#[tokio::test]
async fn an_interrupted_upload_is_restarted_as_a_new_one() {
    let server = Double::start(|seen, _, before| match seen.method.as_str() {
        "HEAD" => answer(404, &[], ""),
        "POST" => answer(202, &[("location", &format!("/upload/{before}?state=x"))], ""),
        _ if seen.path.starts_with("/upload/1?") => answer(500, &[], ""),
        _ => answer(201, &[], ""),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let content = file(dir.path(), "x", b"content");
    let what = Descriptor::of(media::WASM, b"content");
    assert!(client(&server.host).push_blob(&reference(&server.host, "n"), &what, &content).await.unwrap());
    let puts: Vec<_> = server.seen().into_iter().filter(|seen| seen.method == "PUT").collect();
    let query = format!("?state=x&digest=sha256%3A{}", what.digest.hex());
    assert_eq!(
        puts.iter().map(|put| put.path.clone()).collect::<Vec<_>>(),
        [format!("/upload/1{query}"), format!("/upload/3{query}")]
    );
    assert!(puts.iter().all(|put| put.body == b"content"));
}

#[tokio::test]
async fn an_unreachable_registry_is_reported_at_once() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let host = format!("127.0.0.1:{port}");
    let error = client(&host).manifest(&reference(&host, "n:1")).await.unwrap_err();
    assert!(error.cause.to_string().contains("refused"), "{error:?}");
}
