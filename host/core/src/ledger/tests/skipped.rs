//! Tests for skipped plugins.

use super::words::{Short, at, key, planned, plugin};
use crate::Verdict;
use crate::ledger::{Effect, ErrorRecord, Event, Ledger, MAX_SKIP_REASON, Record, Refusal, Stored, StoredKind};
use crate::progress::ProgressUpdate;
use crate::run_status::TarInfo;

fn skipped(name: &str) -> Event {
    Event::Skipped { plugin: plugin(name), reason: format!("nothing to do for {name}") }
}

fn received(ledger: &mut Ledger, text: &str) {
    let stored = Stored { kind: StoredKind::File, files: 1, bytes: 1, sha256: "0".repeat(64) };
    ledger.apply(at(2), Event::UploadStarted { key: key(text), upload: 1 }).unwrap();
    ledger.apply(at(3), Event::UploadStored { key: key(text), upload: 1, stored }).unwrap();
}

/// Returns a ledger that expects one result of `a`, two of `b`, and one of `c`.
fn ledger() -> Ledger {
    let plan = [planned("a", &["a/global"]), planned("b", &["b/n1", "b/n2"]), planned("c", &["c/global"])];
    Ledger::replay(plan.map(|event| (at(0), event))).unwrap()
}

#[test]
fn a_skipped_plugin_leaves_the_rest_as_if_it_had_never_been_planned() {
    let mut ledger = ledger();
    let progress =
        Event::Progress { key: key("c/global"), update: ProgressUpdate { total: 7, ..ProgressUpdate::default() } };
    ledger.apply(at(1), progress).unwrap();
    let effects = ledger.apply(at(1), skipped("b")).unwrap();
    assert_eq!(effects, [Effect::PluginSkipped { plugin: plugin("b") }, Effect::StatusChanged]);

    assert_eq!(ledger.keys().collect::<Vec<_>>(), [&key("a/global"), &key("c/global")]);
    assert_eq!(ledger.keys_of(&plugin("b")).count(), 0);
    assert_eq!(ledger.admit(&key("b/n1")), Err(Refusal::Unexpected(key("b/n1"))));
    assert!(ledger.is_plugin_complete(&plugin("b"), at(1)));
    assert_eq!(ledger.skipped(&plugin("b")), Some("nothing to do for b"));
    assert_eq!(ledger.progress(&key("c/global")).unwrap().total, 7, "what lay behind it has moved with what it holds");

    received(&mut ledger, "a/global");
    received(&mut ledger, "c/global");
    let judged = |name: &str| Event::PluginPostProcessed {
        plugin: plugin(name),
        status: crate::Status::Passed,
        counts: [("passed".to_owned(), 1)].into(),
    };
    ledger.apply(at(4), judged("a")).unwrap();
    ledger.apply(at(4), judged("c")).unwrap();
    ledger.apply(at(5), Event::Archived { tar: TarInfo::default() }).unwrap();
    assert_eq!(ledger.verdict(at(5)), Verdict::Passed);
    let status = ledger.status(at(5));
    assert_eq!(status.plugins.unwrap().iter().map(|entry| entry.plugin.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(status.skipped, [("b".to_owned(), "nothing to do for b".to_owned())].into());
}

#[test]
fn the_last_plugin_that_is_skipped_completes_the_run() {
    let mut ledger = ledger();
    ledger.apply(at(1), skipped("c")).unwrap();
    received(&mut ledger, "a/global");
    received(&mut ledger, "b/n1");
    received(&mut ledger, "b/n2");
    assert!(ledger.is_complete(at(3)));
    let mut ledger = self::ledger();
    for text in ["a/global", "b/n1", "b/n2"] {
        received(&mut ledger, text);
    }
    assert!(ledger.apply(at(4), skipped("c")).unwrap().contains(&Effect::RunComplete));
}

#[test]
fn a_plugin_that_was_launched_or_started_cannot_be_skipped() {
    let mut ledger = ledger();
    ledger.apply(at(1), Event::Launched { plugin: plugin("a") }).unwrap();
    ledger.apply(at(1), Event::Failed { key: key("b/n2"), error: ErrorRecord::new("gone") }).unwrap();
    ledger.apply(at(1), Event::UploadStarted { key: key("c/global"), upload: 1 }).unwrap();
    for name in ["a", "b", "c"] {
        assert_eq!(ledger.apply(at(2), skipped(name)), Err(Refusal::NotSkippable(plugin(name))));
    }
    assert_eq!(ledger.apply(at(2), skipped("d")), Err(Refusal::UnknownPlugin(plugin("d"))));
    let mut twice = self::ledger();
    twice.apply(at(1), skipped("a")).unwrap();
    assert_eq!(twice.apply(at(2), skipped("a")), Err(Refusal::NotSkippable(plugin("a"))));
}

#[test]
fn the_reason_is_bounded_and_survives_the_journal() {
    let mut ledger = ledger();
    let event = Event::Skipped { plugin: plugin("a"), reason: "x".repeat(10_000) };
    let line = serde_json::to_string(&Record { at: at(1), event: event.clone() }).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&line).unwrap().event, event);
    ledger.apply(at(1), event).unwrap();
    assert_eq!(ledger.skipped(&plugin("a")).unwrap().len(), MAX_SKIP_REASON);
}
