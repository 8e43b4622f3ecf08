//! Tests of plugins that rerun failed tests of others.

use plumbline_aggregator::{Report, RunError, Source};
use plumbline_core::definition::EnvValue;
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::{Status, Verdict};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::harness::{Archive, RunFixture, TestDispatcher, file, key, send, source, until};

const FAILED: &str = r#"<testsuites><testsuite name="suite">
  <testcase name="[It] [sig-a] good (one)"/>
  <testcase name="[It] [sig-b] bad (two)"><failure message="no"/></testcase>
  <testcase name="[sig-c] bad+three"><failure message="no"/></testcase>
  <testcase name="[It] left out"><skipped/></testcase>
</testsuite></testsuites>"#;
const PASSED: &str = r#"<testsuite name="suite"><testcase name="[It] [sig-a] good (one)"/></testsuite>"#;

fn e2e() -> Source {
    source("e2e", "Job", "  result-format: junit")
}

/// Returns the plugin `name` of this order, which reruns the failures of `other`.
fn again(name: &str, order: u32, other: &str) -> Source {
    let rest = format!(
        "  result-format: junit\n  order: {order}\nplumbline:\n  reruns: {{plugin: {other}, focus: FOCUS, clear: [SKIP], strip: '[It] '}}"
    );
    let mut source = source(name, "Job", &rest);
    let mut document = source.definition.to_json();
    document["spec"]["env"] =
        json!([{"name": "FOCUS", "value": "all"}, {"name": "SKIP", "value": "some"}, {"name": "KEEP", "value": "1"}]);
    source.definition = std::sync::Arc::new(plumbline_core::Definition::from_json(document).unwrap().definition);
    source
}

fn env(launch: &plumbline_aggregator::Launch) -> Vec<(String, String)> {
    let text = |value: &EnvValue| match value {
        EnvValue::Text(text) => text.clone(),
        EnvValue::From(_) => panic!("no text"),
    };
    launch.definition.spec.env().iter().map(|var| (var.name.clone(), text(&var.value))).collect()
}

#[tokio::test]
async fn only_failed_tests_are_run_again() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![e2e(), again("retry", 1, "e2e")], &["n1"]).await;
    let first = live.launch().await;
    assert_eq!(first.definition.name.as_str(), "e2e");
    assert!(live.launched.is_empty(), "the other waits for it");
    send(&first.access, "e2e/global", &file("junit.xml", FAILED)).await.unwrap();
    let second = live.launch().await;
    let keep = ("KEEP".to_owned(), "1".to_owned());
    let focus = ("FOCUS".to_owned(), r"\[sig-b\] bad \(two\)|\[sig-c\] bad\+three".to_owned());
    assert_eq!(env(&second), [keep, focus]);
    send(&second.access, "retry/global", &file("junit.xml", PASSED)).await.unwrap();
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Failed);
    let archive = Archive::of(&finished);
    assert_eq!((archive.tree("e2e").status, archive.tree("retry").status), (Status::Failed, Status::Passed));
    let written = archive.json("plugins/retry/definition.json");
    assert_eq!(written["Definition"]["spec"]["env"][0]["value"], "all", "the definition is kept as it was written");
}

#[tokio::test]
async fn a_rerun_that_waits_for_its_tests_is_not_launched_after_an_interruption() {
    let fixture = RunFixture::new();
    let (dispatcher, launched) = TestDispatcher::new(&["n1"]);
    let hold = CancellationToken::new();
    let sources = vec![e2e(), again("retry", 1, "e2e")];
    let mut live = fixture.live_with(sources, dispatcher.hold(hold.clone()), launched).await;
    let access = live.launch().await.access;
    send(&access, "e2e/global", &file("junit.xml", FAILED)).await.unwrap();
    // The results are not read before the interruption, but the next group has started.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    live.cancel.cancel();
    until(&live.state, |ledger| ledger.is_interrupted()).await;
    hold.cancel();
    assert_eq!(live.launched.calls_to_cleanup().await.last().map(String::as_str), Some(""));
    assert!(live.launched.is_empty(), "it was launched");
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Interrupted);
    assert!(!finished.status.launched.contains_key("retry"), "{:?}", finished.status.launched);
}

#[tokio::test]
async fn with_nothing_failed_the_run_is_as_without_it() {
    let fixture = RunFixture::new();
    let sources = vec![e2e(), again("retry-1", 1, "e2e"), again("retry-2", 2, "retry-1")];
    let live = fixture.live(sources, &["n1"]).await;
    let finished = live.finished_with("e2e/global", &file("junit.xml", PASSED)).await;
    assert_eq!(finished.verdict, Verdict::Passed);
    assert_eq!(finished.plugins.len(), 1);
    let entries = finished.status.plugins.clone().unwrap_or_default();
    assert_eq!(entries.iter().map(|entry| entry.plugin.as_str()).collect::<Vec<_>>(), ["e2e"]);
    assert_eq!(finished.status.skipped["retry-1"], "no test failed in `e2e`");
    assert_eq!(finished.status.skipped["retry-2"], "plugin `retry-1` was skipped: no test failed in `e2e`");
    let archive = Archive::of(&finished);
    assert!(archive.0.keys().all(|name| !name.contains("retry")), "{:?}", archive.0.keys());
    assert_eq!(archive.json("meta/info.json"), json!({"plugins": ["e2e"]}));
    let modules: Vec<Value> = archive.json("meta/modules.json")["plugins"].as_array().unwrap().clone();
    assert_eq!(modules.len(), 1);
}

#[tokio::test]
async fn without_results_there_is_nothing_to_run_again() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![e2e(), again("retry", 1, "e2e")], &["n1"]).await;
    let (_, reports) = live.launched.next().await;
    let error = ErrorRecord::new("the pod is gone");
    reports.send(Report::Failed { key: key("e2e/global"), error }).await.unwrap();
    let finished = live.finished().await;
    assert_eq!(finished.verdict, Verdict::Incomplete);
    let why = &finished.status.skipped["retry"];
    assert_eq!(why, "plugin `e2e` has no results with failed tests: the pod is gone");
}

#[tokio::test]
async fn a_killed_aggregator_takes_its_rerun_up_again() {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![e2e(), again("retry", 1, "e2e")], &["n1"]).await;
    let first = live.launch().await;
    send(&first.access, "e2e/global", &file("junit.xml", FAILED)).await.unwrap();
    let launched = live.launch().await;
    // A durable event forces the journal to disk.
    let event = plumbline_core::ledger::Event::Launched { plugin: "retry".parse().unwrap() };
    live.state.apply_durable(event).await.unwrap();
    let crashed = fixture.crashed();
    let mut second = crashed.live(Vec::new(), &[]).await;
    let adopted = second.launch().await;
    assert_eq!(adopted.definition.name.as_str(), "retry");
    assert_eq!(env(&adopted), env(&launched), "the same tests, from the same tree");
    send(&adopted.access, "retry/global", &file("junit.xml", PASSED)).await.unwrap();
    let finished = second.finished().await;
    assert_eq!(Archive::of(&finished).tree("retry").status, Status::Passed);
}

#[tokio::test]
async fn a_skipped_plugin_outlives_the_aggregator() {
    let fixture = RunFixture::new();
    let mut live =
        fixture.live(vec![e2e(), again("retry", 1, "e2e"), source("late", "Job", "  order: 2")], &["n1"]).await;
    let first = live.launch().await;
    send(&first.access, "e2e/global", &file("junit.xml", PASSED)).await.unwrap();
    assert_eq!(live.launch().await.definition.name.as_str(), "late");
    until(&live.state, |ledger| ledger.skipped(&"retry".parse().unwrap()).is_some()).await;
    let event = plumbline_core::ledger::Event::Launched { plugin: "late".parse().unwrap() };
    live.state.apply_durable(event).await.unwrap();
    let crashed = fixture.crashed();
    let mut second = crashed.live(Vec::new(), &[]).await;
    let late = second.launch().await;
    assert_eq!(late.definition.name.as_str(), "late");
    send(&late.access, "late/global", &file("a.txt", "a")).await.unwrap();
    let finished = second.finished().await;
    assert_eq!((finished.verdict, finished.status.skipped.len()), (Verdict::Passed, 1));
}

#[tokio::test]
async fn a_rerun_that_would_wait_forever_is_rejected() {
    for wrong in [vec![again("retry", 1, "e2e")], vec![e2e(), again("retry", 0, "e2e")]] {
        let (dispatcher, _launched) = TestDispatcher::new(&["n1"]);
        let Err(error) = RunFixture::new().begin(wrong, dispatcher).await else { panic!("it begins") };
        assert!(matches!(error, RunError::Together(_)), "{error}");
    }
}
