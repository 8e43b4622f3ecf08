//! Tests of the disk space for the results of a plugin and of a run.

use plumbline_core::ReceiveLimits;

use super::UploadFixture;
use super::archives::{file, packed};
use crate::harness::{Archive, RunFixture, send};

const GZIP: &str = "Content-Type: application/gzip";
const TEXT: &str = "Content-Type: text/plain";
const NAMED: &str = "Content-Disposition: attachment; filename=\"a.txt\"";

async fn limited(plugin_bytes: u64, run_bytes: u64) -> UploadFixture {
    let mut fixture = RunFixture::new();
    fixture.settings.receive = ReceiveLimits { plugin_bytes, run_bytes, ..ReceiveLimits::default() };
    UploadFixture::on(fixture).await
}

#[tokio::test]
async fn a_plugin_that_sends_too_much_is_refused_and_others_are_not() {
    let uploads = limited(10_000, 100_000).await;
    assert_eq!(uploads.put(&[TEXT, NAMED], &[b'x'; 6_000]).await.status, 200);
    let refused = uploads.put_as("by-node/n2/p", &[TEXT, NAMED], &[b'x'; 6_000]).await;
    assert_eq!(refused.status, 413);
    assert!(refused.body.contains("more than 10000 bytes (limit `plugin-bytes`)"), "{}", refused.body);
    // An archive counts with its unpacked size.
    let bomb = packed(&[file("zeros", &[0; 6_000])]);
    assert!(bomb.len() < 1_000);
    let refused = uploads.put_as("by-node/n2/p", &[GZIP], &bomb).await;
    assert_eq!(refused.status, 413);
    assert!(refused.body.contains("`plugin-bytes`"), "{}", refused.body);
    // A rejected upload takes no space.
    assert_eq!(uploads.put_as("by-node/n2/p", &[TEXT, NAMED], &[b'x'; 3_000]).await.status, 200);
    assert_eq!(uploads.put_as("by-node/n3/p", &[TEXT, NAMED], b"x").await.status, 200);
    send(&uploads.q.access, "q/global", &crate::harness::file("a.txt", vec![b'x'; 9_000])).await.unwrap();
    let archive = Archive::of(&uploads.live.finished().await);
    assert_eq!(archive.text("plugins/p/results/n2/a.txt").len(), 3_000);
}

#[tokio::test]
async fn stored_results_count_toward_the_limit_after_a_restart() {
    let uploads = limited(u64::MAX, 10_000).await;
    assert_eq!(uploads.put(&[TEXT, NAMED], &[b'x'; 6_000]).await.status, 200);
    let mut crashed = uploads.fixture.crashed();
    crashed.settings.receive = uploads.fixture.settings.receive.clone();
    let mut live = crashed.live(Vec::new(), &[]).await;
    let [_, q] = live.launches(2).await.try_into().unwrap();
    let refused = send(&q.access, "q/global", &crate::harness::file("a.txt", vec![b'x'; 6_000])).await.unwrap_err();
    assert!(refused.to_string().contains("more than 10000 bytes (limit `run-bytes`)"), "{refused}");
    send(&q.access, "q/global", &crate::harness::file("a.txt", "small")).await.unwrap();
    live.interrupt().await;
}
