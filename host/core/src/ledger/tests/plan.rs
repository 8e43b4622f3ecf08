//! Tests for planning and for results that are not expected.

use super::words::{
    Short, WINDOW, at, broken, complete, failed, key, ledger, planned, plugin, started, stored, timed_out,
};
use crate::Verdict;
use crate::ledger::{Effect, Event, Ledger, MAX_EXPECTED, Refusal};
use crate::progress::ProgressUpdate;
use crate::run_status::TarInfo;

#[test]
fn a_plan_is_made_once_and_names_its_own_keys_once() {
    let mut ledger = ledger();
    assert_eq!(ledger.refused(1, planned("a", &[])), Refusal::AlreadyPlanned(plugin("a")));
    for keys in [&["a/n7"][..], &["c/n1", "c/n1"], &["c/n1", "b/n1"]] {
        assert!(matches!(ledger.refused(1, planned("c", keys)), Refusal::BadPlan { .. }), "{keys:?}");
    }
    let many = (0..=MAX_EXPECTED).map(|i| key(&format!("c/n{i}"))).collect();
    let refusal = ledger.refused(1, Event::Planned { plugin: plugin("c"), keys: many });
    assert_eq!(refusal, Refusal::TooMany(MAX_EXPECTED + 4));
    assert_eq!(ledger.plugins().collect::<Vec<_>>(), [&plugin("a"), &plugin("b")]);
    assert_eq!(ledger.keys().collect::<Vec<_>>(), [&key("a/global"), &key("b/n1"), &key("b/n2")]);
    assert_eq!(ledger.keys_of(&plugin("b")).count(), 2);
}

#[test]
fn unexpected_results_are_rejected() {
    let mut ledger = ledger();
    for text in ["a/n1", "b/global", "b/n3", "c/global"] {
        assert_eq!(ledger.admit(&key(text)), Err(Refusal::Unexpected(key(text))));
        assert_eq!(ledger.refused(1, started(text, 1)), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.refused(1, stored(text, 1)), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.refused(1, failed(text, "e")), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.refused(1, Event::Heartbeat { key: key(text) }), Refusal::Unexpected(key(text)));
        let progress = Event::Progress { key: key(text), update: ProgressUpdate::default() };
        assert_eq!(ledger.refused(1, progress), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.state(&key(text)), None);
    }
    assert_eq!(ledger.refused(1, timed_out("c")), Refusal::UnknownPlugin(plugin("c")));
    assert_eq!(ledger.refused(1, Event::Launched { plugin: plugin("c") }), Refusal::UnknownPlugin(plugin("c")));
    assert!(!ledger.is_plugin_complete(&plugin("c"), at(1)));
}

#[test]
fn a_plugin_that_expects_nothing_is_complete_at_once() {
    let mut ledger = Ledger::default();
    assert!(ledger.is_complete(at(0)));
    assert_eq!(ledger.tick(at(0)), []);
    assert_eq!(ledger.ok(0, planned("a", &[])), [complete("a")]);
    // The next plugin may still be planned: the first event that is not planning completes the run.
    assert_eq!(ledger.ok(0, planned("b", &[])), [complete("b")]);
    assert_eq!(ledger.ok(1, Event::Launched { plugin: plugin("a") }), [Effect::RunComplete]);
    assert_eq!(ledger.refused(2, planned("c", &["c/global"])), Refusal::RunOver(plugin("c")));
    assert_eq!(ledger.verdict(at(2)), Verdict::Incomplete);
    ledger.ok(3, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(3)), Verdict::NothingToJudge);
}

#[test]
fn a_run_that_expects_nothing_is_complete_with_a_tick() {
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &[]));
    assert!(ledger.tick(at(0)).contains(&Effect::RunComplete));
    assert_eq!(ledger.tick(at(1)), []);
}

#[test]
fn nothing_is_planned_once_the_last_window_is_over() {
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &["a/global"]));
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, broken("a/global", 1));
    assert_eq!(ledger.clone().ok(1 + WINDOW, planned("c", &["c/global"])), []);
    assert_eq!(ledger.refused(2 + WINDOW, planned("c", &["c/global"])), Refusal::RunOver(plugin("c")));
}
