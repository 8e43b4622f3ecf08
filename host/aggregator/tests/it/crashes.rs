//! Tests with crashes and disk faults at every step on disk of whole runs. Acknowledged uploads are
//! in the archive. Others can be sent again, and are then in the archive too. A finished archive never
//! changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::{Crash, Failure, Plan};
use crate::story::{Story, scattered, walk};

/// Number of steps that a fault lasts.
const FAULT: usize = 3;

/// Runs the story that `begin` returns once for each step, with a crash before that step. Returns
/// the number of acknowledged partial results.
async fn crash_everywhere(begin: fn() -> Story, crash: Crash) -> usize {
    let partial = AtomicUsize::new(0);
    let points = walk(async |at| {
        let mut story = begin();
        let steps = story.until_crash(at, crash, None).await;
        let hit = steps > at;
        // The second life crashes too, at another step.
        let second = scattered(at, 100);
        story.until_crash(second, crash, None).await;
        story.play().await;
        story.check(&format!("crash of the {crash:?} at step {at}, then at step {second}"), &["p/n3"]);
        partial.fetch_add(story.partial_results(), Ordering::Relaxed);
        hit
    })
    .await;
    println!("{points} crash points walked");
    assert!(points > 50, "the run has more steps than {points}");
    partial.into_inner()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_keeps_what_it_acknowledged_wherever_it_stops() {
    crash_everywhere(Story::new, Crash::Process).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_loses_nothing_that_was_acknowledged() {
    crash_everywhere(Story::new, Crash::Machine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_loses_no_partial_result_that_was_acknowledged() {
    let acknowledged = crash_everywhere(Story::with_partial, Crash::Machine).await;
    assert!(acknowledged > 0, "no partial result was acknowledged");
}

/// Fails some steps of whole runs, from each step on.
async fn fail_everywhere(failure: Failure) {
    let points = walk(async |at| {
        let mut story = Story::new();
        let plan = Arc::new(Plan::fail(story.dir.path(), at..at + FAULT, failure));
        // A run that this ends can be resumed in another process.
        if story.live(Some(plan.clone())).await.is_err() {
            plan.halt();
            story.play().await;
        }
        story.check(&format!("{failure:?} at step {at}"), &["p/n3"]);
        assert_eq!(plan.replaced(), Vec::<PathBuf>::new(), "{failure:?} at step {at}");
        plan.steps() > at
    })
    .await;
    println!("{points} points of {failure:?} walked");
    assert!(points > 50, "the run has more steps than {points}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_at_any_step_loses_nothing_that_was_acknowledged() {
    fail_everywhere(Failure::Full).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_at_any_step_loses_nothing_that_was_acknowledged() {
    fail_everywhere(Failure::Device).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_writes_only_a_part_loses_nothing_that_was_acknowledged() {
    fail_everywhere(Failure::Short).await;
}
