//! Tests for progress and heartbeats.

use super::words::{Short, at, failed, key, ledger, plugin, started, stored};
use crate::ledger::{Event, Ledger, MAX_PROGRESS_BYTES};
use crate::name::ResultKey;
use crate::progress::ProgressUpdate;

/// Returns the reason that the status shows for a missing result.
fn reason(ledger: &Ledger, of: &str) -> Option<String> {
    let entries = ledger.status(at(9)).plugins.unwrap();
    entries.into_iter().find(|entry| format!("{}/{}", entry.plugin, entry.node) == of).unwrap().reason
}

#[test]
fn progress_and_signs_of_life_are_taken_at_all_times() {
    let mut ledger = ledger();
    let progress = |completed| Event::Progress {
        key: key("a/global"),
        update: ProgressUpdate { appendcompleted: completed, name: "liar".to_owned(), ..ProgressUpdate::default() },
    };
    ledger.ok(1, progress(3));
    ledger.ok(2, started("a/global", 1));
    ledger.ok(3, stored("a/global", 1));
    ledger.ok(4, progress(4));
    let state = ledger.progress(&key("a/global")).unwrap();
    assert_eq!((state.completed, state.name.as_str(), state.node.as_str(), state.timestamp), (7, "a", "global", at(4)));

    ledger.ok(5, Event::Hello { key: key("b/n1") });
    assert_eq!(ledger.last_heard(&key("b/n1")), Some(at(5)));
    ledger.ok(6, failed("b/n1", "gone"));
    // The worker is alive after all, but the error stays.
    assert_eq!(ledger.apply(at(7), Event::Heartbeat { key: key("b/n1") }), Ok(vec![]));
    assert_eq!(ledger.last_heard(&key("b/n1")), Some(at(7)));
    assert!(ledger.error(&key("b/n1")).is_some());
    assert_eq!(reason(&ledger, "b/n1").as_deref(), Some("gone"));
    let trouble = |reason: &str| Event::Problem { key: key("b/n2"), reason: Some(reason.to_owned()) };
    ledger.ok(7, trouble("out\nof memory"));
    assert_eq!(reason(&ledger, "b/n2").as_deref(), Some("out of memory"));
    ledger.ok(7, trouble(&"x".repeat(1 << 20)));
    assert_eq!(reason(&ledger, "b/n2").map(|reason| reason.chars().count()), Some(401));
    ledger.ok(7, Event::Problem { key: key("b/n2"), reason: None });
    assert_eq!(reason(&ledger, "b/n2"), None);
}

#[test]
fn progress_of_all_plugins_together_is_bounded() {
    let mut ledger = Ledger::default();
    let nodes: Vec<ResultKey> = (0..80).map(|i| key(&format!("a/n{i}"))).collect();
    ledger.ok(0, Event::Planned { plugin: plugin("a"), keys: nodes.clone() });
    let update = ProgressUpdate { failures: vec!["x".repeat(1 << 20)], ..ProgressUpdate::default() };
    for key in &nodes {
        ledger.ok(1, Event::Progress { key: key.clone(), update: update.clone() });
    }
    let bytes = |ledger: &Ledger| -> usize {
        nodes.iter().map(|key| ledger.progress(key).map_or(0, ProgressUpdate::name_bytes)).sum()
    };
    assert_eq!(bytes(&ledger), MAX_PROGRESS_BYTES);
    assert_eq!(ledger.progress(&nodes[79]).map(|state| (state.failures.len(), state.failed())), Some((0, 1)));
    // Room that one state gives up is available to another.
    ledger.ok(2, Event::Progress { key: nodes[0].clone(), update: ProgressUpdate::default() });
    ledger.ok(3, Event::Progress { key: nodes[79].clone(), update });
    assert_eq!(bytes(&ledger), MAX_PROGRESS_BYTES);
}
