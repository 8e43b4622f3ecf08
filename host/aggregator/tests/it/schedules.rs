//! Tests with every event that can decide a result, at every step on disk of whole runs: timeouts,
//! failures, interruptions, a stop of the server, clients that hang up, and restarts.
//!
//! The ledger changes under one lock, so a schedule can only change the order of its events.
//! Uploads have their steps on disk between their events. An event before each of these steps
//! covers each order. Partial results are not in the ledger, and have a lock and steps of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plumbline_aggregator::State;
use plumbline_core::ledger::{ErrorRecord, Event};

use crate::harness::{Crash, Hook, Plan, key};
use crate::story::{Story, scattered, walk};

/// The maximum number of steps between an event and the restart after it. The last part of an
/// upload, from its complete body to its event in the journal, has about as many.
const SOON: usize = 12;

/// Runs the story that `begin` returns once for each step, with `event` before that step. Then does
/// the same with a process that is killed a few steps later, such as in the middle of an upload, and
/// restarted. Returns the number of acknowledged partial results.
async fn at_every_step(what: &str, may_fail: &[&str], begin: fn() -> Story, event: Hook) -> usize {
    let partial = AtomicUsize::new(0);
    let check = |story: &Story, what: &str| {
        story.check(what, may_fail);
        partial.fetch_add(story.partial_results(), Ordering::Relaxed);
    };
    let once = walk(async |at| {
        let mut story = begin();
        let plan = Arc::new(Plan::event(story.dir.path(), at, event));
        story.live(Some(plan.clone())).await.unwrap_or_else(|error| panic!("{what} at step {at}: {error}"));
        check(&story, &format!("{what} at step {at}"));
        plan.steps() > at
    })
    .await;
    let restarted = walk(async |at| {
        let mut story = begin();
        let kill = at + 1 + scattered(at, SOON);
        let steps = story.until_crash(kill, Crash::Process, Some((at, event))).await;
        story.play().await;
        check(&story, &format!("{what} at step {at}, and a restart at step {kill}"));
        steps > at
    })
    .await;
    println!("{what}: {once} schedules walked, and {restarted} with a restart");
    assert!(once.min(restarted) > 50, "the run has more steps than {once} or {restarted}");
    partial.into_inner()
}

/// The results that an early end of the run makes fail.
const ALL: [&str; 4] = ["p/n1", "p/n2", "p/n3", "q/global"];

/// Applies an event. A rejection is part of every schedule, because the event can come too late.
fn apply(state: &State, event: Event) {
    drop(state.apply(event));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_at_any_moment_decides_each_result_once() {
    let event = |state: &State, _: &Plan| apply(state, Event::TimedOut { plugin: "p".parse().unwrap() });
    at_every_step("timeout", &["p/n1", "p/n2", "p/n3"], Story::new, event).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_a_driver_reports_at_any_moment_decides_its_result_once() {
    let event = |state: &State, _: &Plan| {
        apply(state, Event::Failed { key: key("p/n1"), error: ErrorRecord::new("the pod is gone") });
    };
    at_every_step("failure", &["p/n1", "p/n3"], Story::new, event).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interruption_at_any_moment_keeps_what_was_acknowledged() {
    let event = |state: &State, _: &Plan| {
        apply(state, Event::Interrupted);
        state.tick();
    };
    at_every_step("interruption", &ALL, Story::new, event).await;
}

/// The server stops while uploads are in progress. The ledger decides the results of plugins, but
/// not whether a partial result is still accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_at_any_moment_keeps_every_result_and_partial_result_that_was_acknowledged() {
    let partial = at_every_step("stop", &ALL, Story::with_partial, |_, plan| plan.cancel.cancel()).await;
    assert!(partial > 0, "no partial result was acknowledged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_at_any_moment_can_send_again() {
    let partial = at_every_step("hang-up", &["p/n3"], Story::with_partial, |_, plan| plan.hang_up.cancel()).await;
    assert!(partial > 0, "no partial result was acknowledged");
}
