//! Tests for failures, timeouts, and interrupted runs.

use serde_json::json;

use super::words::{
    Short, WINDOW, at, broken, complete, delayed, failed, key, ledger, planned, plugin, received, started, stored,
    timed_out,
};
use crate::Verdict;
use crate::ledger::{Effect, ErrorRecord, Event, KeyState, Ledger, Refusal, TIMEOUT_ERROR};
use crate::limits::{ERRORS_BYTES, LEAST_ERROR_BYTES};
use crate::run_status::TarInfo;

#[test]
fn a_failure_waits_for_the_upload_under_way() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    assert_eq!(ledger.ok(2, failed("a/global", "the pod ended")), []);
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Uploading { upload: 1, since: at(1) }));
    assert_eq!(ledger.refused(3, failed("a/global", "again")), Refusal::AlreadyReceived(key("a/global")));
    assert_eq!(ledger.tick(at(9_000)), []);

    let mut wins = ledger.clone();
    assert_eq!(wins.ok(9_001, stored("a/global", 1)), [received("a/global"), complete("a")]);

    let effects = ledger.ok(9_001, broken("a/global", 1));
    let error = ErrorRecord::new("the pod ended").with("upload", "connection reset");
    assert_eq!(effects, [Effect::ResultFailed { key: key("a/global"), error }, complete("a")]);
}

#[test]
fn a_failure_after_a_failed_upload_tells_of_both() {
    let mut ledger = ledger();
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, broken("b/n1", 1));
    ledger.ok(3, failed("b/n1", "the node is gone"));
    let error = ledger.error(&key("b/n1")).unwrap();
    assert_eq!(error.to_error_json(), json!({"error": "the node is gone", "upload": "connection reset"}));
}

#[test]
fn the_timeout_of_one_plugin_is_not_that_of_another() {
    let mut ledger = ledger();
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, stored("b/n1", 1));
    let effects = ledger.ok(10, timed_out("b"));
    let error = ErrorRecord::new(TIMEOUT_ERROR);
    assert!(error.is_timeout());
    assert_eq!(effects, [Effect::ResultFailed { key: key("b/n2"), error }, complete("b")]);
    assert!(matches!(ledger.state(&key("b/n1")), Some(KeyState::Received { .. })));
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Waiting));
    // A final result stays final.
    assert_eq!(ledger.ok(11, timed_out("b")), []);
    assert_eq!(ledger.refused(12, started("b/n2", 2)), Refusal::AlreadyReceived(key("b/n2")));
}

#[test]
fn a_timeout_waits_for_the_upload_under_way_but_not_for_ever() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    assert_eq!(ledger.ok(10, timed_out("a")), []);
    assert_eq!(ledger.next_deadline(at(11)), Some(at(10 + WINDOW)));

    let mut in_time = ledger.clone();
    assert_eq!(in_time.ok(9 + WINDOW, stored("a/global", 1)), [received("a/global"), complete("a")]);

    let mut too_late = ledger.clone();
    assert_eq!(too_late.refused(10 + WINDOW, stored("a/global", 1)), Refusal::AlreadyReceived(key("a/global")));

    // A second timeout does not extend the wait.
    ledger.ok(50, timed_out("a"));
    let effects = ledger.tick(at(10 + WINDOW));
    assert!(effects.contains(&complete("a")), "{effects:?}");
    assert_eq!(ledger.error_of("a/global"), TIMEOUT_ERROR);
    assert_eq!(ledger.refused(11 + WINDOW, stored("a/global", 1)), Refusal::AlreadyReceived(key("a/global")));
}

/// Returns a ledger whose plugin `a` has timed out at 10 s, after its upload has failed at 9 s.
fn timed_out_when_broken() -> Ledger {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(9, broken("a/global", 1));
    assert_eq!(ledger.ok(10, timed_out("a")), []);
    ledger
}

#[test]
fn failed_uploads_do_not_delay_the_end_of_a_plugin_that_timed_out() {
    let mut ledger = timed_out_when_broken();
    assert_eq!(ledger.next_deadline(at(11)), Some(at(9 + WINDOW)));
    // A second timeout does not extend the time.
    ledger.ok(50, timed_out("a"));
    ledger.ok(8 + WINDOW, started("a/global", 2));
    assert_eq!(ledger.next_deadline(at(9 + WINDOW)), Some(at(10 + WINDOW)));

    let mut in_time = ledger.clone();
    assert_eq!(in_time.ok(9 + WINDOW, stored("a/global", 2)), [received("a/global"), complete("a")]);

    let mut fails = ledger.clone();
    let effects = fails.ok(9 + WINDOW, broken("a/global", 2));
    let error = ErrorRecord::new(TIMEOUT_ERROR).with("upload", "connection reset");
    assert_eq!(effects, [Effect::ResultFailed { key: key("a/global"), error }, complete("a")]);
    assert_eq!(fails.refused(9 + WINDOW, started("a/global", 3)), Refusal::AlreadyReceived(key("a/global")));

    let effects = ledger.tick(at(10 + WINDOW));
    assert!(effects.contains(&complete("a")), "{effects:?}");
    assert_eq!(ledger.error_of("a/global"), TIMEOUT_ERROR);
    assert_eq!(ledger.refused(11 + WINDOW, stored("a/global", 2)), Refusal::AlreadyReceived(key("a/global")));
}

#[test]
fn a_retry_that_cannot_be_recorded_has_its_time_again_also_after_a_timeout() {
    let mut ledger = timed_out_when_broken();
    ledger.ok(100, delayed("a/global"));
    let reason = "the disk is full".to_owned();
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Broken { at: at(100), reason }));
    assert_eq!(ledger.next_deadline(at(101)), Some(at(100 + WINDOW)));
    ledger.ok(99 + WINDOW, started("a/global", 2));
    assert_eq!(ledger.refused(99 + WINDOW, delayed("a/global")), Refusal::AlreadyReceived(key("a/global")));
    assert_eq!(ledger.next_deadline(at(99 + WINDOW)), Some(at(100 + WINDOW)));
    assert!(ledger.tick(at(100 + WINDOW)).contains(&complete("a")));
    assert_eq!(ledger.refused(101 + WINDOW, delayed("a/global")), Refusal::AlreadyReceived(key("a/global")));
}

#[test]
fn error_records_of_all_results_share_a_limit() {
    let nodes: Vec<String> = (0..100).map(|n| format!("c/n{n}")).collect();
    let mut ledger = ledger();
    ledger.ok(0, planned("c", &nodes.iter().map(String::as_str).collect::<Vec<_>>()));
    for node in &nodes {
        let error = ErrorRecord::new("gone").with("log", "x".repeat(1 << 20)).with("pod", "p");
        let event = ledger.bounded(Event::Failed { key: key(node), error });
        ledger.ok(1, event);
    }
    let errors: Vec<&ErrorRecord> = ledger.keys().filter_map(|key| ledger.error(key)).collect();
    assert_eq!(errors.len(), nodes.len());
    assert_eq!(errors[0].details["log"].as_str().unwrap().len(), 1 << 20);
    let (last, memory) = (errors[99], errors.iter().map(|error| error.memory()).sum::<usize>());
    assert_eq!((last.error.as_str(), &last.details["pod"]), ("gone", &json!("p")));
    assert!(last.memory() < LEAST_ERROR_BYTES, "{}", last.memory());
    assert!(memory <= ERRORS_BYTES + nodes.len() * LEAST_ERROR_BYTES, "{memory}");
}

#[test]
fn the_reason_of_a_failed_launch_is_within_the_limit_of_all_errors() {
    let nodes: Vec<String> = (0..100).map(|n| format!("c/n{n}")).collect();
    let failed_with = |bytes: usize| {
        let mut ledger = ledger();
        ledger.ok(0, planned("c", &nodes.iter().map(String::as_str).collect::<Vec<_>>()));
        let event = ledger.bounded(Event::LaunchFailed { plugin: plugin("c"), reason: "x".repeat(bytes) });
        ledger.ok(1, event);
        let errors: Vec<&ErrorRecord> = nodes.iter().filter_map(|node| ledger.error(&key(node))).collect();
        assert_eq!(errors.len(), nodes.len());
        let memory: usize = errors.iter().map(|error| error.memory()).sum();
        let is_cut = errors[99].error.ends_with('…');
        (ledger, memory, is_cut)
    };
    let (_, memory, is_cut) = failed_with(1 << 20);
    assert!(is_cut && memory <= ERRORS_BYTES, "{memory}");
    let (mut ledger, memory, is_cut) = failed_with(600 << 10);
    assert!(!is_cut && memory <= ERRORS_BYTES, "{memory}");
    // What it takes is not there for other errors.
    let error = ErrorRecord::new("gone").with("log", "x".repeat(16 << 20));
    let event = ledger.bounded(Event::Failed { key: key("b/n1"), error });
    ledger.ok(2, event);
    assert!(ledger.error(&key("b/n1")).unwrap().memory() <= ERRORS_BYTES - memory);
}

#[test]
fn a_launch_that_failed_is_an_error_of_every_missing_result() {
    let mut ledger = ledger();
    let effects = ledger.ok(1, Event::LaunchFailed { plugin: plugin("b"), reason: "no such command".to_owned() });
    let error = |text| Effect::ResultFailed { key: key(text), error: ErrorRecord::new("no such command") };
    assert_eq!(effects, [error("b/n1"), error("b/n2"), complete("b")]);
    assert_eq!(ledger.launched(&plugin("b")), None);
    ledger.ok(2, Event::Launched { plugin: plugin("a") });
    assert_eq!(ledger.launched(&plugin("a")), Some(at(2)));
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_misses_the_rest() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, stored("a/global", 1));
    ledger.ok(3, started("b/n1", 2));
    ledger.ok(4, broken("b/n1", 2));
    ledger.ok(5, started("b/n2", 3));
    let effects = ledger.ok(6, Event::Interrupted);
    assert!(effects.ends_with(&[complete("b"), Effect::RunComplete]), "{effects:?}");
    assert!(matches!(ledger.state(&key("a/global")), Some(KeyState::Received { .. })));
    assert_eq!(ledger.error_of("b/n1"), "upload failed and was not retried: connection reset");
    assert_eq!(ledger.error_of("b/n2"), "the run was interrupted before this result arrived");
    assert_eq!(ledger.refused(7, stored("b/n2", 3)), Refusal::AlreadyReceived(key("b/n2")));
    assert_eq!(ledger.refused(7, planned("c", &[])), Refusal::RunOver(plugin("c")));
    assert!(ledger.is_interrupted() && ledger.status(at(7)).interrupted);
    ledger.ok(8, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(8)), Verdict::Interrupted);
    // A second interruption has no effect.
    assert_eq!(ledger.ok(9, Event::Interrupted), []);
}

#[test]
fn a_run_that_has_its_archive_cannot_be_interrupted() {
    let mut ledger = ledger();
    for (text, upload) in [("a/global", 1), ("b/n1", 2), ("b/n2", 3)] {
        ledger.ok(1, started(text, upload));
        ledger.ok(2, stored(text, upload));
    }
    ledger.ok(3, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.ok(4, Event::Interrupted), []);
    assert!(!ledger.is_interrupted());
}
