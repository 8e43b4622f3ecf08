//! Tests of the endpoint for scrapers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use plumbline_telemetry::{BoundAddress, Endpoint, Family, Point, Source};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Starts an endpoint whose metric is the number of computations.
async fn endpoint() -> Endpoint {
    let computed = AtomicU32::new(0);
    let source: Source = Arc::new(move || {
        let n = computed.fetch_add(1, Ordering::SeqCst) + 1;
        vec![Family::gauge("computed", "Computations.", [Point::new([], f64::from(n))])]
    });
    Endpoint::start(BoundAddress::bind(([127, 0, 0, 1], 0).into()).await.unwrap(), source)
}

async fn ask(endpoint: &Endpoint, head: &str) -> String {
    let mut stream = TcpStream::connect(endpoint.address()).await.unwrap();
    stream.write_all(format!("{head}\r\nHost: h\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn a_scraper_gets_the_format_that_it_asks_for() {
    let endpoint = endpoint().await;
    let plain = ask(&endpoint, "GET /metrics HTTP/1.1").await;
    assert!(plain.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{plain}");
    assert!(plain.ends_with("# TYPE computed gauge\ncomputed 1\n"), "{plain}");
    let open = ask(&endpoint, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0").await;
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"), "{open}");
    // Computed once, although there were two requests.
    assert!(open.ends_with("computed 1\n# EOF\n"), "{open}");
}

#[tokio::test]
async fn other_requests_are_rejected() {
    let endpoint = endpoint().await;
    for (head, status) in
        [("GET / HTTP/1.1", "404 Not Found"), ("POST /metrics HTTP/1.1\r\nContent-Length: 0", "405 Method Not Allowed")]
    {
        let text = ask(&endpoint, head).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{text}");
        assert!(!text.contains("computed"));
    }
}

#[tokio::test]
async fn a_taken_port_is_an_error_and_a_dropped_endpoint_frees_it() {
    let first = endpoint().await;
    let address = first.address();
    let error = BoundAddress::bind(address).await.err().unwrap().to_string();
    assert!(error.starts_with(&format!("failed to listen on `{address}` for metrics: ")), "{error}");
    drop(first);
    // The task ends soon.
    while BoundAddress::bind(address).await.is_err() {
        tokio::task::yield_now().await;
    }
}
