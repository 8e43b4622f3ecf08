//! Tests with every event that can decide a result, at every step on disk of whole runs: timeouts,
//! failures, interruptions, clients that hang up.
//!
//! The ledger changes under one lock, so a schedule can only change the order of its events.
//! Uploads have their steps on disk between their events. An event before each of these steps
//! covers each order.

use std::sync::Arc;

use plumbline_aggregator::State;
use plumbline_core::ledger::{ErrorRecord, Event};

use crate::harness::{Plan, key};
use crate::story::{Story, walk};

/// Runs the story once for each step, with `event` before that step.
async fn at_every_step(what: &str, may_fail: &[&str], event: fn(&State, &Plan)) {
    let points = walk(async |at| {
        let mut story = Story::new();
        let plan = Arc::new(Plan::event(story.dir.path(), at, event));
        story.live(Some(plan.clone())).await.unwrap_or_else(|error| panic!("{what} at step {at}: {error}"));
        story.check(&format!("{what} at step {at}"), may_fail);
        plan.steps() > at
    })
    .await;
    println!("{what}: {points} schedules walked");
    assert!(points > 50, "the run has more steps than {points}");
}

/// Applies an event. A rejection is part of every schedule, because the event can come too late.
fn apply(state: &State, event: Event) {
    drop(state.apply(event));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_at_any_moment_decides_each_result_once() {
    let event = |state: &State, _: &Plan| apply(state, Event::TimedOut { plugin: "p".parse().unwrap() });
    at_every_step("timeout", &["p/n1", "p/n2", "p/n3"], event).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_a_driver_reports_at_any_moment_decides_its_result_once() {
    let event = |state: &State, _: &Plan| {
        apply(state, Event::Failed { key: key("p/n1"), error: ErrorRecord::new("the pod is gone") });
    };
    at_every_step("failure", &["p/n1", "p/n3"], event).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interruption_at_any_moment_keeps_what_was_acknowledged() {
    let event = |state: &State, _: &Plan| {
        apply(state, Event::Interrupted);
        state.tick();
    };
    at_every_step("interruption", &["p/n1", "p/n2", "p/n3", "q/global"], event).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_at_any_moment_can_send_again() {
    at_every_step("hang-up", &["p/n3"], |_, plan| plan.hang_up.cancel()).await;
}
