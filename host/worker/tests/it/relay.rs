//! The progress relay from a plugin's perspective.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::StatusCode;
use plumbline_core::ResultKey;
use plumbline_phonehome::Client;
use plumbline_worker::{MAX_PROGRESS_BYTES, Relay};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{Aggregator, Run, plugin};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn client(run: &Run, aggregator: SocketAddr) -> Client {
    Client::new(&run.client_config(aggregator)).unwrap()
}

/// Starts a relay, and returns its address.
async fn relay(run: &Run, aggregator: SocketAddr) -> SocketAddr {
    let relay = Relay::bind(&[LOCAL], 0).await.unwrap();
    let address = SocketAddr::new(LOCAL, relay.port());
    tokio::spawn(relay.serve(client(run, aggregator), ResultKey::global(plugin()), CancellationToken::new()));
    address
}

/// Returns the status code and the whole response.
async fn request(address: SocketAddr, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{head} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    // The relay may reject the request and close the connection before all of it is sent.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[tokio::test]
async fn an_update_arrives_unchanged_and_the_answer_comes_back() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let address = relay(&run, aggregator.address).await;
    let update = r#"{"msg": "ünchanged", "completed": 3,   "total": 9}"#;
    let (status, _) = request(address, "POST /progress", update.as_bytes()).await;
    assert_eq!(status, 200);
    let heard = aggregator.next("progress").await;
    assert_eq!(heard.path, "/api/v1/progress/global/node-check");
    assert_eq!(heard.body, update);
}

/// `printf 'POST /progress HTTP/1.1…' | nc localhost 8099` closes one direction of the connection
/// at the end of its input.
#[tokio::test]
async fn a_client_that_closes_its_half_of_the_connection_is_answered() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let address = relay(&run, aggregator.address).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"POST /progress HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n{\"completed\": 3}")
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    assert_eq!(aggregator.next("progress").await.json("completed"), 3);
}

#[tokio::test]
async fn refusals_of_the_aggregator_reach_the_plugin() {
    let run = Run::new();
    let mut codes = [400_u16, 403, 404, 503].into_iter();
    let aggregator = Aggregator::answering(&run, move |_| {
        let code = codes.next().unwrap();
        (StatusCode::from_u16(code).unwrap(), format!("because of {code}\n"))
    })
    .await;
    let address = relay(&run, aggregator.address).await;
    for code in [400, 403, 404, 503] {
        let (status, answer) = request(address, "POST /progress", b"{}").await;
        assert_eq!(status, code);
        assert!(answer.ends_with(&format!("because of {code}\n")), "{answer}");
    }
}

#[tokio::test]
async fn any_method_will_do_and_other_paths_will_not() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let address = relay(&run, aggregator.address).await;
    for head in ["PUT /progress", "PATCH /progress?x=y", "POST /progress/"] {
        assert_eq!(request(address, head, b"{}").await.0, 200, "{head}");
        aggregator.next("progress").await;
    }
    for head in ["POST /", "POST /progress/x", "POST /api/v1/progress/global/e2e"] {
        assert_eq!(request(address, head, b"{}").await.0, 404, "{head}");
    }
    assert!(aggregator.rest("progress").is_empty());
}

#[tokio::test]
async fn an_aggregator_that_is_away_gives_500_and_the_reason() {
    let run = Run::new();
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let address = relay(&run, gone).await;
    let (status, answer) = request(address, "POST /progress", b"{}").await;
    assert_eq!(status, 500);
    assert!(answer.contains(&format!("connect to {gone}")), "{answer}");
}

#[tokio::test]
async fn too_large_an_update_is_refused_here() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let address = relay(&run, aggregator.address).await;
    let largest = vec![b' '; MAX_PROGRESS_BYTES];
    assert_eq!(request(address, "POST /progress", &largest).await.0, 200);
    assert_eq!(aggregator.next("progress").await.body.len(), MAX_PROGRESS_BYTES);
    // The declared length alone decides, before the body is sent.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /progress HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", MAX_PROGRESS_BYTES + 1);
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");

    // A body without a declared length is cut off where it exceeds the limit.
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"POST /progress HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
    let chunk = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
    // The relay may close the connection before it has received all of this.
    for _ in 0..=MAX_PROGRESS_BYTES / 0x10000 {
        let _ = stream.write_all(&chunk).await;
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&answer));
    assert!(aggregator.rest("progress").is_empty());
}

#[tokio::test]
async fn other_machines_do_not_reach_it() {
    // This is the address that this machine would use for others. Nothing is sent.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let outside = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let Some(outside) = outside.ok().map(|address| address.ip()).filter(|address| !address.is_loopback()) else {
        println!("skipped: this machine has no address but loopback");
        return;
    };
    let run = Run::new();
    let aggregator = Aggregator::start(&run).await;
    let relay = Relay::bind(&run.config(aggregator.address, std::path::Path::new("/")).progress_bind, 0).await.unwrap();
    let port = relay.port();
    let client = client(&run, aggregator.address);
    tokio::spawn(relay.serve(client, ResultKey::global(plugin()), CancellationToken::new()));
    assert_eq!(request(SocketAddr::new(LOCAL, port), "POST /progress", b"{}").await.0, 200);
    let refused = TcpStream::connect((outside, port)).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn updates_keep_their_order_and_never_overlap() {
    let run = Run::new();
    let mut aggregator = Aggregator::start(&run).await;
    let address = relay(&run, aggregator.address).await;
    let mut posts = Vec::new();
    for number in 0..40 {
        posts.push(tokio::spawn(
            async move { request(address, "POST /progress", format!("{number}").as_bytes()).await.0 },
        ));
    }
    for post in posts {
        assert_eq!(post.await.unwrap(), 200);
    }
    let mut arrived: Vec<u32> = aggregator
        .rest("progress")
        .iter()
        .map(|heard| std::str::from_utf8(&heard.body).unwrap().parse().unwrap())
        .collect();
    arrived.sort_unstable();
    assert_eq!(arrived, (0..40).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_port_serves_both_loopback_addresses_where_there_are_two() {
    let relay = Relay::bind(&[LOCAL, IpAddr::V6(Ipv6Addr::LOCALHOST)], 0).await.unwrap();
    assert_ne!(relay.port(), 0);
    let run = Run::new();
    let aggregator = Aggregator::start(&run).await;
    let port = relay.port();
    let stop = CancellationToken::new();
    let task = tokio::spawn(relay.serve(client(&run, aggregator.address), ResultKey::global(plugin()), stop.clone()));
    assert_eq!(request(SocketAddr::new(LOCAL, port), "POST /progress", b"{}").await.0, 200);
    if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let six = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port);
        assert_eq!(request(six, "POST /progress", b"{}").await.0, 200);
    } else {
        println!("skipped: this machine has no IPv6 loopback");
    }
    stop.cancel();
    task.await.unwrap();
    assert!(TcpStream::connect((LOCAL, port)).await.is_err());
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_of_bind_alone() {
    let first = Relay::bind(&[LOCAL], 0).await.unwrap();
    let error = Relay::bind(&[LOCAL], first.port()).await.unwrap_err();
    assert_eq!(error.address, SocketAddr::new(LOCAL, first.port()));
}
