//! Tests of clients that hang up when everything is sent: the archive has whatever is acknowledged
//! afterwards.

use crate::harness::{Archive, Raw, put_head, send, until};

use super::UploadFixture;
use super::archives::{file, packed};

const GZIP: &str = "Content-Type: application/gzip";
/// Enough files that unpacking them takes far longer than sending a small archive.
const MANY: usize = 20_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_upload_never_takes_the_place_of_an_acknowledged_one() {
    let uploads = UploadFixture::new().await;
    let names: Vec<String> = (0..MANY).map(|n| format!("abandoned/{n}")).collect();
    let members: Vec<_> = names.iter().map(|name| file(name, b"old")).collect();
    let large = packed(&members);
    let mut raw = Raw::connect(&uploads.p.access).await;
    let length = format!("Content-Length: {}", large.len());
    raw.send(put_head("by-node/n1/p", &[&length, GZIP])).await.unwrap();
    raw.send(&large).await.unwrap();
    until(&uploads.live.state, |ledger| ledger.uploads().count() == 1).await;
    drop(raw);

    let small = packed(&[file("a", b"new"), file("b", b"new"), file("c", b"new")]);
    let answer = loop {
        // The server is busy until it has noticed that the first client is gone.
        let answer = uploads.put(&[GZIP], &small).await;
        if answer.status != 503 {
            break answer;
        }
        tokio::task::yield_now().await;
    };
    for (result, access) in [("p/n2", &uploads.p.access), ("p/n3", &uploads.p.access), ("q/global", &uploads.q.access)]
    {
        send(access, result, &crate::harness::file("a.txt", "a")).await.unwrap();
    }
    let archive = Archive::of(&uploads.live.finished().await);
    let stored: Vec<&String> = archive.0.keys().filter(|name| name.starts_with("plugins/p/results/n1/")).collect();
    match answer.status {
        200 => assert_eq!(stored, ["a", "b", "c"].map(|name| format!("plugins/p/results/n1/{name}")).each_ref()),
        // The first upload was complete, and was stored before the server noticed that the client
        // is gone.
        409 => assert_eq!(stored.len(), MANY),
        other => panic!("{other}: {}", answer.body),
    }
}
