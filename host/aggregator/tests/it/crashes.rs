//! Tests with crashes and disk faults at every step on disk of whole runs. Acknowledged uploads are
//! in the archive. Others can be sent again, and are then in the archive too.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::harness::{Crash, Failure, Plan};
use crate::story::{Story, walk};

/// Number of steps that a fault lasts.
const FAULT: usize = 3;

/// Returns another number below `limit` for each `n`, in no particular order.
fn other(n: usize, limit: usize) -> usize {
    let digest = Sha256::digest(n.to_le_bytes());
    usize::from(u16::from_le_bytes([digest[0], digest[1]])) % limit.max(1)
}

async fn crash_everywhere(crash: Crash) -> usize {
    walk(async |at| {
        let mut story = Story::new();
        let steps = story.until_crash(at, crash).await;
        let hit = steps > at;
        // The second life crashes too, at another step.
        story.until_crash(other(at, 100), crash).await;
        story.play().await;
        story.check(&format!("crash of the {crash:?} at step {at}, then at step {}", other(at, 100)), &["p/n3"]);
        hit
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_keeps_what_it_acknowledged_wherever_it_stops() {
    let points = crash_everywhere(Crash::Process).await;
    println!("{points} crash points walked");
    assert!(points > 50, "the run has more steps than {points}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let points = crash_everywhere(Crash::Machine).await;
    println!("{points} crash points walked");
    assert!(points > 50, "the run has more steps than {points}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_for_a_while_loses_nothing_that_was_acknowledged() {
    let points = walk(async |at| {
        let failure = [Failure::Full, Failure::Device, Failure::Short][at % 3];
        let mut story = Story::new();
        let plan = Arc::new(Plan::fail(story.dir.path(), at..at + FAULT, failure));
        // A run that this ends can be resumed in another process.
        if story.live(Some(plan.clone())).await.is_err() {
            plan.halt();
            story.play().await;
        }
        story.check(&format!("{failure:?} at step {at}"), &["p/n3"]);
        plan.steps() > at
    })
    .await;
    println!("{points} fault points walked");
    assert!(points > 50, "the run has more steps than {points}");
}
