//! Tests of unusual requests.

use futures_util::future::select_all;
use plumbline_core::ledger::KeyState;
use plumbline_core::limits::HEAD_BYTES;
use plumbline_phonehome::Outcome;

use super::{UploadFixture, half_sent};
use crate::harness::{Archive, Raw, RunFixture, file, put_head, send, source};

fn request(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: aggregator\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn routes_and_methods() {
    let uploads = UploadFixture::new().await;
    for (method, path, status, header) in [
        ("GET", "/api/v1/results/global/q", 405, Some(("allow", "PUT"))),
        ("POST", "/api/v1/results/by-node/n1/p", 405, Some(("allow", "PUT"))),
        ("PUT", "/api/v1/progress/global/q", 405, Some(("allow", "POST"))),
        ("GET", "/api/v1/hello/global/q", 405, Some(("allow", "POST"))),
        ("GET", "/", 404, None),
        ("PUT", "/api/v1/results/global", 404, None),
        ("PUT", "/api/v1/results/global/UPPER", 404, None),
        ("PUT", "/api/v1/results/by-node/n1/p/more", 404, None),
        ("PUT", "/api/v2/results/global/q", 404, None),
        ("PUT", "/api/v1//results/global/q", 301, Some(("location", "/api/v1/results/global/q"))),
        ("PUT", "/api/v1/x/../results/global/q", 301, Some(("location", "/api/v1/results/global/q"))),
        ("PUT", "/api/v1/results/by-node/n1/%2e%2e/global/q", 301, None),
    ] {
        let answer = Raw::exchange(&uploads.q.access, request(method, path)).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        if let Some((name, value)) = header {
            assert_eq!(answer.headers[name], value, "{method} {path}");
        }
        if status == 405 {
            assert_eq!(answer.body, "", "{method} {path}");
        }
    }
    assert_eq!(uploads.state_of("q/global"), KeyState::Waiting);
}

#[tokio::test]
async fn other_spellings_of_a_route_mean_the_same() {
    let uploads = UploadFixture::new().await;
    for path in ["by_node/n1/p", "by-node/n2/p/", "by-node%2Fn3%2Fp?query=1"] {
        assert_eq!(uploads.put_as(path, &[], b"x").await.status, 200, "{path}");
    }
    assert_eq!(uploads.put_as("by-node/n3/p", &[], b"x").await.status, 409);
}

#[tokio::test]
async fn a_worker_that_waits_for_the_go_ahead_is_refused_without_a_byte_of_its_body() {
    let uploads = UploadFixture::new().await;
    let expect = &["Expect: 100-continue", "Content-Length: 1000000"];
    let mut raw = Raw::connect(&uploads.p.access).await;
    raw.send(put_head("by-node/stranger/p", expect)).await.unwrap();
    let answer = raw.answer().await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(answer.body.contains("p/stranger is not expected"), "{answer:?}");
    assert!(answer.headers["content-type"].starts_with("text/plain"));

    let mut raw = Raw::connect(&uploads.p.access).await;
    raw.send(put_head("by-node/n1/p", &["Expect: 100-continue", "Content-Length: 5"])).await.unwrap();
    assert_eq!(raw.answer().await.status, 100);
    raw.send("hello").await.unwrap();
    assert_eq!(raw.answer().await.status, 200);
}

#[tokio::test]
async fn a_connection_is_good_for_several_requests() {
    let uploads = UploadFixture::new().await;
    let mut raw = Raw::connect(&uploads.p.access).await;
    for node in ["n1", "n2"] {
        let head = put_head(&format!("by-node/{node}/p"), &["Content-Length: 1"]);
        raw.send([head.as_bytes(), b"x"].concat()).await.unwrap();
        assert_eq!(raw.answer().await.status, 200, "{node}");
    }
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let uploads = UploadFixture::new().await;
    let many: Vec<String> = (0..500).map(|n| format!("X-Flood-{n}: x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(Raw::exchange(&uploads.p.access, put_head("by-node/n1/p", &many)).await.status, 431);
    let long = format!("X-Flood: {}", "x".repeat(1 << 20));
    assert_eq!(Raw::exchange(&uploads.p.access, put_head("by-node/n1/p", &[&long])).await.status, 431);
    // Thousands of connections may send a head at the same time.
    let long = format!("X-Flood: {}", "x".repeat(HEAD_BYTES));
    let head = put_head("by-node/n1/p", &[&long, "Content-Length: 0"]);
    assert_eq!(Raw::exchange(&uploads.p.access, head).await.status, 431);
    assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting);
}

#[tokio::test]
async fn long_heads_of_one_plugin_take_half_of_their_memory() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.head_seconds = 600;
    let uploads = UploadFixture::on(fixture).await;
    let part = format!("PUT /api/v1/results/by-node/n1/p HTTP/1.1\r\nX-Slow: {}", "x".repeat(2_000));
    let half = (8 << 20) / HEAD_BYTES;
    let mut open = Vec::new();
    for _ in 0..=half {
        let mut raw = Raw::connect(&uploads.p.access).await;
        // The server closes the connection that is one too many.
        let _ = raw.send(&part).await;
        open.push(Box::pin(raw.rest()));
    }
    let (seen, _, _open) = select_all(open).await;
    assert_eq!(String::from_utf8(seen).unwrap(), "");
    // Workers have short heads.
    assert_eq!(uploads.put(&[], b"x").await.status, 200);
}

#[tokio::test]
async fn the_longest_names_fit_into_a_head() {
    let fixture = RunFixture::new();
    let node = "n".repeat(253);
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &[node.as_str()]).await;
    let access = live.launch().await.access;
    // In the head, each byte of the name of the file takes three.
    let name = "é".repeat(127);
    let sent = send(&access, &format!("p/{node}"), &file(&name, "x")).await.unwrap();
    assert_eq!(sent, Outcome::Stored);
    assert_eq!(Archive::of(&live.finished().await).text(&format!("plugins/p/results/{node}/{name}")), "x");
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_ends_the_connection() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.head_seconds = 1;
    let uploads = UploadFixture::on(fixture).await;
    let mut raw = Raw::connect(&uploads.p.access).await;
    raw.send("PUT /api/v1/results/by-node/n1/p HTTP/1.1\r\nX-Slow: ").await.unwrap();
    raw.rest().await;
    // A connection that does not even start TLS.
    let address = uploads.p.access.aggregator_url.strip_prefix("https://").unwrap();
    let mut silent = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut nothing = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut silent, &mut nothing);
    // The connection is over, whether it was reset or closed.
    let _ = tokio::time::timeout(crate::harness::PATIENCE, read).await.expect("the connection stays open");
    assert_eq!(uploads.put(&[], b"x").await.status, 200);
}

#[tokio::test]
async fn a_body_that_stops_coming_is_given_up() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.idle_seconds = 1;
    let uploads = UploadFixture::on(fixture).await;
    let mut raw = half_sent(&uploads).await;
    let answer = raw.answer().await;
    assert_eq!(answer.status, 408, "{answer:?}");
    assert!(answer.body.contains("no data for 1 s"), "{answer:?}");
    assert!(matches!(uploads.state_of("p/n1"), KeyState::Broken { .. }));
    assert_eq!(uploads.put(&[], b"x").await.status, 200);
}
