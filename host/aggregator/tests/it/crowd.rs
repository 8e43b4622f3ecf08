//! Tests with many concurrent workers, some of which never finish.

use std::time::Duration;

use plumbline_core::{Status, Verdict};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::{Archive, Raw, RunFixture, file, key, put_head, send, source, until};

const SENDING: usize = 200;
const STALLED: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_finish_while_twenty_are_stalled() {
    let fixture = RunFixture::new();
    let names: Vec<String> =
        (0..SENDING).map(|n| format!("node-{n}")).chain((0..STALLED).map(|n| format!("stalled-{n}"))).collect();
    let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &nodes).await;
    let access = live.launch().await.access;

    let mut stalled = Vec::new();
    for n in 0..STALLED {
        let mut raw = Raw::connect(&access).await;
        raw.send(put_head(&format!("by-node/stalled-{n}/p"), &["Content-Length: 10"])).await.unwrap();
        raw.send("half ").await.unwrap();
        stalled.push(raw);
    }
    until(&live.state, |ledger| ledger.uploads().count() == STALLED).await;

    let mut sending = JoinSet::new();
    for n in 0..SENDING {
        let access = access.clone();
        sending.spawn(async move { send(&access, &format!("p/node-{n}"), &file("a.txt", format!("of {n}"))).await });
    }
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    let (missing, under_way) =
        live.state.read(|ledger| (ledger.missing(&"p".parse().unwrap()).len(), ledger.uploads().count()));
    assert_eq!((missing, under_way), (STALLED, STALLED), "everybody else is through, and they are still there");

    for mut raw in stalled {
        raw.send("whole").await.unwrap();
        assert_eq!(raw.answer().await.status, 200);
    }
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::NothingToJudge);
    let archive = Archive::of(&finished);
    for n in 0..SENDING {
        assert_eq!(archive.text(&format!("plugins/p/results/node-{n}/a.txt")), format!("of {n}"));
    }
    for n in 0..STALLED {
        assert_eq!(archive.text(&format!("plugins/p/results/stalled-{n}/result")), "half whole");
    }
    assert_eq!(archive.tree("p").items.len(), SENDING + STALLED);
}

#[tokio::test]
async fn stalled_uploads_are_ended_by_the_limit_and_may_be_tried_again() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.idle_seconds = 1;
    let nodes = ["n0", "n1", "n2", "n3", "n4"];
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &nodes).await;
    let access = live.launch().await.access;
    let mut stalled = Vec::new();
    for node in nodes {
        let mut raw = Raw::connect(&access).await;
        raw.send(put_head(&format!("by-node/{node}/p"), &["Content-Length: 10"])).await.unwrap();
        stalled.push(raw);
    }
    for mut raw in stalled {
        assert_eq!(raw.answer().await.status, 408);
    }
    assert_eq!(live.state.read(|ledger| ledger.uploads().count()), 0);
    for node in nodes {
        assert!(live.state.read(|ledger| ledger.error(&key(&format!("p/{node}"))).is_none()), "not an error yet");
        send(&access, &format!("p/{node}"), &file("a.txt", "a")).await.unwrap();
    }
    let finished = live.finished().await;
    assert_eq!(finished.plugins[0].outcome.total.status, Status::NotRead);
}

#[tokio::test]
async fn over_the_limit_of_connections_newcomers_wait_and_are_served() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.connections = 2;
    let mut live = fixture.live(vec![source("p", "DaemonSet", "")], &["n0", "n1", "n2"]).await;
    let access = live.launch().await.access;
    let mut holding = Vec::new();
    for node in ["n0", "n1"] {
        let mut raw = Raw::connect(&access).await;
        raw.send(put_head(&format!("by-node/{node}/p"), &["Content-Length: 10"])).await.unwrap();
        holding.push(raw);
    }
    until(&live.state, |ledger| ledger.uploads().count() == 2).await;
    let third = {
        let access = access.clone();
        tokio::spawn(async move { send(&access, "p/n2", &file("a.txt", "a")).await })
    };
    for mut raw in holding {
        raw.send("0123456789").await.unwrap();
        assert_eq!(raw.answer().await.status, 200);
    }
    third.await.unwrap().unwrap();
    assert_eq!(live.finished().await.plugins[0].outcome.total.status, Status::NotRead);
}

/// Number of connections without a certificate.
const STRANGERS: usize = 2_000;
/// Start of a TLS handshake that never continues: the header of a record of 512 bytes.
const HALF_A_HELLO: [u8; 6] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01];
/// Far less time than 2,000 handshakes need to time out one after another.
const PROMPTLY: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_without_a_certificate_do_not_keep_workers_out() {
    let mut fixture = RunFixture::new();
    // The strangers exceed this limit. They would hold every connection for the timeout of a
    // handshake.
    fixture.settings.receive.connections = 500;
    let mut live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let access = live.launch().await.access;
    let address = access.aggregator_url.trim_start_matches("https://").to_owned();
    let mut strangers = Vec::new();
    for n in 0..STRANGERS {
        let Ok(connecting) = tokio::time::timeout(PROMPTLY, TcpStream::connect(&address)).await else { break };
        let mut stranger = connecting.unwrap();
        if n % 2 == 0 {
            // The aggregator may have closed the connection.
            let _ = stranger.write_all(&HALF_A_HELLO).await;
        }
        strangers.push(stranger);
    }
    assert_eq!(strangers.len(), STRANGERS);
    let sent = tokio::time::timeout(PROMPTLY, send(&access, "p/global", &file("a.txt", "a"))).await;
    sent.expect("the worker is served at once").unwrap();
    drop(strangers);
    live.finished().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_holds_connections_does_not_keep_others_out() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.connections = 40;
    // The plugin sends slowly, so no timeout must end its uploads during the test.
    fixture.settings.receive.idle_seconds = 600;
    let greedy: Vec<String> = (0..60).map(|n| format!("n{n}")).collect();
    let nodes: Vec<&str> = greedy.iter().map(String::as_str).collect();
    let sources = vec![source("greedy", "DaemonSet", ""), source("modest", "Job", "")];
    let mut live = fixture.live(sources, &nodes).await;
    let (first, second) = (live.launch().await, live.launch().await);
    let (greedy, modest) = match first.definition.name.as_str() {
        "greedy" => (first.access, second.access),
        _ => (second.access, first.access),
    };
    let mut held = Vec::new();
    for node in nodes {
        let mut raw = Raw::connect(&greedy).await;
        raw.send(put_head(&format!("by-node/{node}/greedy"), &["Content-Length: 10"])).await.unwrap();
        held.push((node, raw));
    }
    until(&live.state, |ledger| ledger.uploads().count() >= 20).await;
    let sent = tokio::time::timeout(PROMPTLY, send(&modest, "modest/global", &file("a.txt", "a"))).await;
    sent.expect("the other plugin is served at once").unwrap();
    assert_eq!(live.state.read(|ledger| ledger.uploads().count()), 20, "the share of the greedy plugin");
    drop(held);
    for node in (0..60).map(|n| format!("n{n}")) {
        let key = format!("greedy/{node}");
        while send(&greedy, &key, &file("a.txt", "a")).await.is_err() {
            // The server has not yet noticed every closed connection.
            tokio::task::yield_now().await;
        }
    }
    live.finished().await;
}
