//! Tests of the server with workers of every kind.

mod abandoned;
mod archives;
mod budget;
mod http;
mod messages;
mod trust;

use std::path::PathBuf;

use plumbline_aggregator::Launch;
use plumbline_core::ledger::KeyState;

use crate::harness::{Answer, LiveRun, Raw, RunFixture, chunked_put, file, key, put_head, send, source, until};

/// A run that expects `p` from three nodes and `q` once.
struct UploadFixture {
    fixture: RunFixture,
    live: LiveRun,
    p: Launch,
    q: Launch,
}

impl UploadFixture {
    async fn new() -> Self {
        Self::on(RunFixture::new()).await
    }

    async fn on(fixture: RunFixture) -> Self {
        let sources = vec![source("p", "DaemonSet", ""), source("q", "Job", "")];
        let mut live = fixture.live(sources, &["n1", "n2", "n3"]).await;
        let [p, q] = live.launches(2).await.try_into().unwrap();
        Self { fixture, live, p, q }
    }

    /// Sends a body of a known length as the result of `p` on node `n1`.
    async fn put(&self, headers: &[&str], body: &[u8]) -> Answer {
        self.put_as("by-node/n1/p", headers, body).await
    }

    async fn put_as(&self, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let length = format!("Content-Length: {}", body.len());
        let mut all = vec![length.as_str()];
        all.extend(headers);
        Raw::exchange(&self.p.access, [put_head(path, &all).as_bytes(), body].concat()).await
    }

    fn state_of(&self, result: &str) -> KeyState {
        self.live.state.read(|ledger| ledger.state(&key(result))).unwrap()
    }

    /// Returns the location of the result of `p` on node `n1`.
    fn place(&self) -> PathBuf {
        self.fixture.root().join("tree/plugins/p/results/n1")
    }

    /// Checks that uploads have left nothing behind except for what was stored.
    fn assert_nothing_is_left(&self) {
        let left: Vec<_> = std::fs::read_dir(self.fixture.root().join("incoming")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Sends half of an upload of `p` on `n1`, so that the ledger knows about it.
async fn half_sent(uploads: &UploadFixture) -> Raw {
    let mut raw = Raw::connect(&uploads.p.access).await;
    raw.send(put_head("by-node/n1/p", &["Content-Length: 10"])).await.unwrap();
    raw.send("half ").await.unwrap();
    until(&uploads.live.state, |ledger| ledger.uploads().any(|(k, _)| *k == key("p/n1"))).await;
    raw
}

#[tokio::test]
async fn a_second_upload_under_way_is_turned_away_and_the_first_counts() {
    let uploads = UploadFixture::new().await;
    let mut first = half_sent(&uploads).await;
    let second = uploads.put(&[], b"second").await;
    assert_eq!(second.status, 503, "{second:?}");
    assert!(second.headers["retry-after"].parse::<u32>().unwrap() > 0);
    assert!(second.body.contains("another upload of result p/n1 is under way"), "{second:?}");
    first.send("whole").await.unwrap();
    let answer = first.answer().await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert_eq!(std::fs::read_to_string(uploads.place().join("result")).unwrap(), "half whole");
    let third = uploads.put(&[], b"third").await;
    assert_eq!(third.status, 409, "{third:?}");
    assert!(third.body.contains("p/n1 was already received"), "{third:?}");
    assert_eq!(std::fs::read_to_string(uploads.place().join("result")).unwrap(), "half whole");
    uploads.assert_nothing_is_left();
}

#[tokio::test]
async fn an_incomplete_body_is_not_a_result_and_the_next_attempt_counts() {
    let uploads = UploadFixture::new().await;
    for chunked in [false, true] {
        let mut raw = Raw::connect(&uploads.p.access).await;
        let head = if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 100" };
        raw.send(put_head("by-node/n1/p", &[head])).await.unwrap();
        raw.send(if chunked { "5\r\nhalf \r\n" } else { "half " }).await.unwrap();
        until(&uploads.live.state, |ledger| ledger.uploads().count() == 1).await;
        drop(raw);
        until(&uploads.live.state, |ledger| ledger.uploads().count() == 0).await;
        assert!(matches!(uploads.state_of("p/n1"), KeyState::Broken { .. }), "{:?}", uploads.state_of("p/n1"));
        assert!(!uploads.place().exists());
    }
    send(&uploads.p.access, "p/n1", &file("a.txt", "whole")).await.unwrap();
    assert_eq!(std::fs::read_to_string(uploads.place().join("a.txt")).unwrap(), "whole");
    let KeyState::Received { stored, .. } = uploads.state_of("p/n1") else { panic!() };
    assert_eq!((stored.bytes, stored.files), (5, 1));
    assert_eq!(stored.sha256, hex::encode(<sha2::Sha256 as sha2::Digest>::digest("whole")));
    uploads.assert_nothing_is_left();
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_an_answer_that_arrives() {
    let mut fixture = RunFixture::new();
    fixture.settings.receive.body_bytes = 1000;
    let uploads = UploadFixture::on(fixture).await;
    let large = vec![b'x'; 200_000];
    let by_length = uploads.put(&[], &large).await;
    assert_eq!(by_length.status, 413, "{by_length:?}");
    assert!(by_length.body.contains("result p/n1: the body has more than 1000 bytes"), "{by_length:?}");
    assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting, "nothing began");

    let request = chunked_put("by-node/n1/p", &["Transfer-Encoding: chunked"]);
    let when_it_turned_out = Raw::exchange(&uploads.p.access, request).await;
    assert_eq!(when_it_turned_out.status, 413, "{when_it_turned_out:?}");
    assert!(matches!(uploads.state_of("p/n1"), KeyState::Broken { .. }));
    uploads.assert_nothing_is_left();
    assert_eq!(uploads.put(&[], &[b'x'; 1000]).await.status, 200, "exactly the limit");
}

#[tokio::test]
async fn names_of_files_stay_names_of_files() {
    let uploads = UploadFixture::new().await;
    for hostile in [
        "attachment;filename=\"../../evil\"",
        "attachment;filename=\"/tmp/evil\"",
        "attachment;filename=\"a\\\\evil\"",
        "attachment;filename*=UTF-8''..%2fevil",
        "attachment;filename=ok;filename*=UTF-8''%2e%2e",
        "attachment;filename=..",
        "attachment;filename=.",
        "attachment;filename*=UTF-8''a%00evil",
        &format!("attachment;filename={}", "e".repeat(256)),
    ] {
        let answer = uploads.put(&[&format!("Content-Disposition: {hostile}")], b"evil").await;
        assert_eq!(answer.status, 400, "{hostile}: {answer:?}");
        assert!(answer.body.starts_with("result p/n1: "), "{hostile}: {answer:?}");
        assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting, "{hostile}");
    }
    assert!(!uploads.place().exists());
    // The last value is not a token, so there is no valid name.
    for (node, header, name) in [
        ("n1", "attachment;filename=\"a b.xml\"", "a b.xml"),
        ("n2", "attachment;filename=x;filename*=UTF-8''gr%C3%BC%C3%9Fe.txt", "grüße.txt"),
        ("n3", "attachment;filename=../evil", "result"),
    ] {
        let answer =
            uploads.put_as(&format!("by-node/{node}/p"), &[&format!("Content-Disposition: {header}")], b"x").await;
        assert_eq!(answer.status, 200, "{header}: {answer:?}");
        let place = uploads.place().with_file_name(node).join(name);
        assert_eq!(std::fs::read(place).unwrap(), b"x", "{header}");
    }
}
