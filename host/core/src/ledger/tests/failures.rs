//! Tests for failures, timeouts, and interrupted runs.

use serde_json::json;

use super::words::{
    Short, WINDOW, at, broken, complete, failed, key, ledger, planned, plugin, received, started, stored, timed_out,
};
use crate::Verdict;
use crate::ledger::{Effect, ErrorRecord, Event, KeyState, Refusal, TIMEOUT_ERROR};
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
