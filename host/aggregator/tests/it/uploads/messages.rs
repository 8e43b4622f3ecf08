//! Tests of progress, heartbeats, and errors that replace results.

use plumbline_aggregator::WorkerAccess;
use plumbline_core::ledger::KeyState;
use plumbline_core::limits::{BODY_MEMORY, ERROR_BYTES};
use plumbline_core::run_status::PluginStatus;
use plumbline_phonehome::{Bytes, Heartbeat, Hello, Outcome, Phase, Timestamp};
use tokio::task::JoinSet;

use super::UploadFixture;
use crate::harness::{Raw, client, file, key, send};

async fn progress(access: &WorkerAccess, result: &str, body: &'static str) -> u16 {
    client(access).post_progress(&key(result), Bytes::from_static(body.as_bytes())).await.unwrap().status.as_u16()
}

fn entry(uploads: &UploadFixture, result: &str) -> PluginStatus {
    let key = key(result);
    let entries = uploads.live.state.status().plugins.unwrap();
    entries.into_iter().find(|entry| entry.plugin == key.plugin.as_str() && entry.node == key.node.as_str()).unwrap()
}

#[tokio::test]
async fn progress_replaces_or_appends_per_result() {
    let uploads = UploadFixture::new().await;
    let p = &uploads.p.access;
    assert_eq!(
        progress(p, "p/n1", r#"{"msg":"first","total":10,"completed":2,"failures":["a"],"name":"liar"}"#).await,
        200
    );
    assert_eq!(progress(p, "p/n2", r#"{"msg":"other node"}"#).await, 200);
    assert_eq!(progress(p, "p/n1", r#"{"msg":"more","appendcompleted":3,"appendfailing":["b"]}"#).await, 200);
    let now = entry(&uploads, "p/n1").progress.unwrap();
    assert_eq!((now.msg.as_str(), now.total, now.completed), ("more", 10, 5));
    assert_eq!(now.failures, ["a", "b"]);
    assert_eq!((now.name.as_str(), now.node.as_str()), ("p", "n1"), "said by the URL, not by the body");
    assert_eq!(entry(&uploads, "p/n2").progress.unwrap().msg, "other node");
    assert_eq!(progress(p, "p/n1", r#"{"msg":"anew","total":7}"#).await, 200);
    let now = entry(&uploads, "p/n1").progress.unwrap();
    assert_eq!((now.total, now.completed, now.failures.len()), (7, 0, 0));

    assert_eq!(progress(p, "p/n1", "[1]").await, 400);
    assert_eq!(progress(p, "p/n1", "not json").await, 400);
    assert_eq!(progress(p, "p/stranger", "{}").await, 403);
    assert_eq!(progress(p, "q/global", "{}").await, 403, "another plugin's");
    assert_eq!(entry(&uploads, "p/n1").progress.unwrap().msg, "anew");

    send(p, "p/n1", &file("a.txt", "a")).await.unwrap();
    assert_eq!(progress(p, "p/n1", r#"{"msg":"afterwards"}"#).await, 200);
    assert_eq!(entry(&uploads, "p/n1").progress.unwrap().msg, "afterwards");
    assert!(matches!(uploads.state_of("p/n1"), KeyState::Received { .. }));
}

#[tokio::test]
async fn a_message_over_its_limit_is_too_large() {
    let mut fixture = crate::harness::RunFixture::new();
    fixture.settings.receive.message_bytes = 100;
    let uploads = UploadFixture::on(fixture).await;
    let long = Bytes::from(format!("{{\"msg\":\"{}\"}}", "x".repeat(100)));
    let answer = client(&uploads.p.access).post_progress(&key("p/n1"), long).await.unwrap();
    assert_eq!(answer.status.as_u16(), 413);
}

#[tokio::test]
async fn hellos_are_small() {
    let uploads = UploadFixture::new().await;
    let of = |path: usize| Hello {
        version: "1.2.3".into(),
        pid: Some(7),
        started: Timestamp::now(),
        results_dir: format!("/{}", "x".repeat(path - 1)),
    };
    let worker = client(&uploads.p.access);
    assert_eq!(worker.hello(&key("p/n1"), &of(4_096)).await.unwrap().status.as_u16(), 200);
    assert_eq!(worker.hello(&key("p/n1"), &of(10_000)).await.unwrap().status.as_u16(), 413);
}

/// Size of a progress update that never arrives completely.
const STALLED: usize = 1_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_messages_of_a_plugin_take_a_share_of_the_memory() {
    let mut fixture = crate::harness::RunFixture::new();
    // No timeout must end the messages during the test.
    fixture.settings.receive.idle_seconds = 600;
    let uploads = UploadFixture::on(fixture).await;
    let head =
        format!("POST /api/v1/progress/by-node/n1/p HTTP/1.1\r\nHost: aggregator\r\nContent-Length: {STALLED}\r\n\r\n");
    let request = [head.as_bytes(), vec![b' '; STALLED - 1].as_slice()].concat();
    let mut stalled = JoinSet::new();
    // One more than half of the memory has room for.
    for _ in 0..=BODY_MEMORY / 2 / STALLED {
        let (access, request) = (uploads.p.access.clone(), request.clone());
        stalled.spawn(async move { Raw::exchange(&access, request).await });
    }
    let refused = stalled.join_next().await.unwrap().unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.headers["retry-after"].parse::<u32>().unwrap() > 0);
    assert!(refused.body.contains("too many messages"), "{refused:?}");

    // The messages of the other plugin have room, and results need none.
    let large = Bytes::from(format!("{{\"msg\":\"{}\"}}", "x".repeat(STALLED)));
    let answer = client(&uploads.q.access).post_progress(&key("q/global"), large).await.unwrap();
    assert_eq!(answer.status.as_u16(), 200);
    for (access, result) in [(&uploads.p.access, "p/n1"), (&uploads.q.access, "q/global")] {
        let upload = file("a.txt", vec![b'x'; STALLED]);
        assert_eq!(send(access, result, &upload).await.unwrap(), Outcome::Stored, "{result}");
    }
    drop(stalled);
}

#[tokio::test]
async fn signs_of_life_are_seen_in_the_status() {
    let uploads = UploadFixture::new().await;
    let worker = client(&uploads.p.access);
    let began = Timestamp::now();
    assert_eq!(entry(&uploads, "p/n1").last_heartbeat, None);
    let hello = Hello { version: "1.2.3".into(), pid: Some(7), started: began, results_dir: "/tmp/results".into() };
    assert!(worker.hello(&key("p/n1"), &hello).await.unwrap().status.is_success());
    let heard = entry(&uploads, "p/n1").last_heartbeat.unwrap();
    assert!(heard >= began);
    let beat = Heartbeat { phase: Phase::Waiting, since: began };
    assert!(worker.heartbeat(&key("p/n1"), &beat).await.unwrap().status.is_success());
    assert!(entry(&uploads, "p/n1").last_heartbeat.unwrap() >= heard);
    assert_eq!(entry(&uploads, "p/n2").last_heartbeat, None);
    assert_eq!(worker.heartbeat(&key("p/stranger"), &beat).await.unwrap().status.as_u16(), 403);
}

#[tokio::test]
async fn an_error_in_place_of_a_result() {
    let uploads = UploadFixture::new().await;
    let error = &["X-Plumbline-Error: true", "Content-Type: application/json"];
    for rubbish in ["not json", "[]", "{}", r#"{"error": 7}"#] {
        let answer = uploads.put(error, rubbish.as_bytes()).await;
        assert_eq!(answer.status, 400, "{rubbish}: {answer:?}");
        assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting);
    }
    let answer = uploads.put(error, br#"{"error":"no disk","where":{"node":"n1"}}"#).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let KeyState::Failed { error, .. } = uploads.state_of("p/n1") else { panic!("{:?}", uploads.state_of("p/n1")) };
    assert_eq!((error.error.as_str(), &error.details["where"]["node"]), ("no disk", &"n1".into()));
    assert_eq!(uploads.put(&[], b"too late").await.status, 409);
    assert!(!uploads.place().exists());
}

#[tokio::test]
async fn a_large_error_is_stored_within_its_limit() {
    let uploads = UploadFixture::new().await;
    let zeros = format!(r#"{{"error":"no disk","a":[{}0]}}"#, "0,".repeat(500_000));
    let error = &["X-Plumbline-Error: true", "Content-Type: application/json"];
    assert_eq!(uploads.put(error, zeros.as_bytes()).await.status, 200);
    let KeyState::Failed { error, .. } = uploads.state_of("p/n1") else { panic!("{:?}", uploads.state_of("p/n1")) };
    assert_eq!((error.error.as_str(), &error.details["details"]), ("no disk", &"left out: it is too large".into()));
    // Without a header, as from Sonobuoy's worker.
    let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(1_000_000));
    assert_eq!(uploads.put_as("by-node/n2/p", &[], long.as_bytes()).await.status, 200);
    let KeyState::Failed { error, .. } = uploads.state_of("p/n2") else { panic!("{:?}", uploads.state_of("p/n2")) };
    assert!(error.error.ends_with("x…") && error.memory() <= ERROR_BYTES, "{}", error.memory());
    // A restarted aggregator reads all of the journal.
    let journal = std::fs::metadata(uploads.fixture.root().join("journal")).unwrap().len();
    assert!(journal < 4 * ERROR_BYTES as u64, "{journal} bytes");
}

/// Sonobuoy's worker sends its errors without our header, without a name, and with the content type
/// of the unreadable result.
#[tokio::test]
async fn an_error_document_without_a_name_is_not_a_result() {
    for content_type in ["application/json", "application/gzip", "text/plain"] {
        let uploads = UploadFixture::new().await;
        let headers = [format!("Content-Type: {content_type}")];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let answer = uploads.put(&headers, br#"{"error":"open /tmp/results/x: no such file"}"#).await;
        assert_eq!(answer.status, 200, "{content_type}: {answer:?}");
        let KeyState::Failed { error, .. } = uploads.state_of("p/n1") else { panic!("{:?}", uploads.state_of("p/n1")) };
        assert_eq!(error.error, "open /tmp/results/x: no such file");
        assert!(!uploads.place().exists());
    }
    // A body with a name or with more keys is a result.
    for (headers, body) in [
        (&["Content-Disposition: attachment;filename=a.json"][..], r#"{"error":"x"}"#),
        (&[], r#"{"error":"x","more":1}"#),
        (&[], r#"[{"error":"x"}]"#),
    ] {
        let uploads = UploadFixture::new().await;
        assert_eq!(uploads.put(headers, body.as_bytes()).await.status, 200, "{body}");
        assert!(matches!(uploads.state_of("p/n1"), KeyState::Received { .. }), "{body}");
    }
}
