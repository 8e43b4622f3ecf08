//! Tests of partial results after a timeout.

use std::time::Duration;

use plumbline_aggregator::Report;
use plumbline_core::ledger::Event;
use plumbline_core::{ResultKey, Verdict};
use plumbline_phonehome::{
    Client, ClientError, Heartbeat, HeartbeatAnswer, Hello, Outcome, Phase, RetryPolicy, Timestamp,
};

use crate::harness::{Archive, RunFixture, client, file, key, send, source};

/// Far longer than a test takes.
const LONG: Duration = Duration::from_secs(600);

/// Sends heartbeats until the aggregator asks for a partial result.
async fn asked(client: &Client, key: &ResultKey) {
    loop {
        let heartbeat = Heartbeat { phase: Phase::Waiting, since: Timestamp::now() };
        let answer = client.heartbeat(key, &heartbeat).await.unwrap();
        assert!(answer.status.is_success());
        if HeartbeatAnswer::read(&answer.body).send_partial {
            return;
        }
    }
}

fn hello() -> Hello {
    Hello { version: "test".into(), pid: None, started: Timestamp::now(), results_dir: "/results".into() }
}

#[tokio::test]
async fn partial_results_are_requested_at_the_timeout_and_kept() {
    let mut fixture = RunFixture::new();
    // The run continues as soon as everything has arrived.
    fixture.settings.collect = LONG;
    let mut live = fixture.live(vec![source("slow", "DaemonSet", "plumbline:\n  timeout: 1s")], &["n1", "n2"]).await;
    let launch = live.launch().await;
    let client = client(&launch.access);
    let n1 = key("slow/n1");

    // Partial results are not wanted yet.
    let early = client.put_partial(&n1, &file("log.txt", "too early"), &RetryPolicy::never()).await.unwrap();
    assert_eq!(early, Outcome::OtherReceived, "409: not wanted");
    assert!(client.hello(&n1, &hello()).await.unwrap().status.is_success());
    asked(&client, &n1).await;
    client.put_partial(&n1, &file("log.txt", "half of it"), &RetryPolicy::never()).await.unwrap();

    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let archive = Archive::of(&finished);
    assert_eq!(archive.text("plugins/slow/partial/n1/log.txt"), "half of it");
    for node in ["n1", "n2"] {
        assert!(archive.text(&format!("plugins/slow/errors/{node}/error.json")).contains("timeout"), "{node}");
    }
}

#[tokio::test]
async fn workers_are_asked_by_the_next_aggregator_if_their_time_was_up_before() {
    let mut fixture = RunFixture::new();
    fixture.settings.collect = LONG;
    let mut first = fixture.live(vec![source("slow", "DaemonSet", "plumbline:\n  timeout: 1s")], &["n1", "n2"]).await;
    let launch = first.launch().await;
    let (n1, n2) = (key("slow/n1"), key("slow/n2"));
    let old = client(&launch.access);
    for node in [&n1, &n2] {
        old.hello(node, &hello()).await.unwrap();
    }
    asked(&old, &n1).await;
    old.put_partial(&n1, &file("log.txt", "first life"), &RetryPolicy::never()).await.unwrap();
    // A durable event forces the launch to disk.
    first.state.apply_durable(Event::Launched { plugin: n1.plugin.clone() }).await.unwrap();
    let mut crashed = fixture.crashed();
    crashed.settings.collect = LONG;

    let second = crashed.live(Vec::new(), &[]).await;
    let access = plumbline_aggregator::WorkerAccess { aggregator_url: second.url.clone(), ..launch.access.clone() };
    let new = client(&access);
    asked(&new, &n2).await;
    let again = new.put_partial(&n1, &file("log.txt", "second life"), &RetryPolicy::never()).await.unwrap();
    assert_eq!(again, Outcome::OtherReceived, "409: the first one was acknowledged");
    new.put_partial(&n2, &file("log.txt", "second life"), &RetryPolicy::never()).await.unwrap();
    let finished = second.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let archive = Archive::of(&finished);
    assert_eq!(archive.text("plugins/slow/partial/n1/log.txt"), "first life");
    assert_eq!(archive.text("plugins/slow/partial/n2/log.txt"), "second life");
}

#[tokio::test]
async fn a_result_that_comes_after_the_time_was_up_still_counts() {
    let mut fixture = RunFixture::new();
    fixture.settings.collect = LONG;
    let mut live = fixture.live(vec![source("slow", "Job", "plumbline:\n  timeout: 1s")], &[]).await;
    let launch = live.launch().await;
    let client = client(&launch.access);
    let global = key("slow/global");
    client.hello(&global, &hello()).await.unwrap();
    asked(&client, &global).await;
    send(&launch.access, "slow/global", &file("a.txt", "whole")).await.unwrap();
    assert_eq!(live.finished().await.verdict, Verdict::NothingToJudge);
}

#[tokio::test]
async fn nothing_partial_is_taken_of_a_stranger() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("p", "Job", "")], &[]).await;
    let launch = live.launch().await;
    let error =
        client(&launch.access).put_partial(&key("q/global"), &file("a", "a"), &RetryPolicy::never()).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status, .. } if status == 403), "{error}");
    live.interrupt().await;
}

#[tokio::test]
async fn when_the_time_of_the_run_is_up_nothing_more_is_launched() {
    let mut fixture = RunFixture::new();
    fixture.settings.deadline = Some(Duration::from_secs(1));
    // Nobody waits for workers that were never launched, or never heard.
    fixture.settings.collect = LONG;
    let second = source("second", "Job", "  order: 1");
    let mut live = fixture.live(vec![source("first", "Job", "plumbline:\n  timeout: 0s"), second], &[]).await;
    assert_eq!(live.launch().await.definition.name.as_str(), "first");
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let archive = Archive::of(&finished);
    for plugin in ["first", "second"] {
        let error = archive.text(&format!("plugins/{plugin}/errors/global/error.json"));
        assert!(error.contains("timeout"), "{plugin}: {error}");
    }
}

#[tokio::test]
async fn a_worker_learns_that_its_plugin_has_ended() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source("once", "Job", "")], &[]).await;
    let (launch, reports) = live.launched.next().await;
    let client = client(&launch.access);
    let global = key("once/global");
    client.hello(&global, &hello()).await.unwrap();
    let heartbeat = Heartbeat { phase: Phase::Waiting, since: Timestamp::now() };
    let answer = client.heartbeat(&global, &heartbeat).await.unwrap();
    assert_eq!(HeartbeatAnswer::read(&answer.body), HeartbeatAnswer::default());
    reports.send(Report::PluginEnded { key: global.clone() }).await.unwrap();
    while !HeartbeatAnswer::read(&client.heartbeat(&global, &heartbeat).await.unwrap().body).plugin_ended {}
}
