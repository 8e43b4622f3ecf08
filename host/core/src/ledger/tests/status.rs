//! Tests for the status and the verdict.

use super::words::{Short, at, broken, failed, key, ledger, planned, plugin, started, stored};
use crate::ledger::{Event, Ledger, Refusal};
use crate::run_status::{MAX_REASON, RunPhase, TarInfo};
use crate::{Status, Verdict};

#[test]
fn the_status_tells_how_far_each_result_is() {
    let mut ledger = ledger();
    assert_eq!(Ledger::default().status(at(0)).plugins, None);
    ledger.ok(1, Event::Heartbeat { key: key("b/n2") });
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, stored("a/global", 1));
    ledger.ok(3, failed("b/n1", "gone"));
    let status = ledger.status(at(4));
    let entries = status.plugins.unwrap();
    let shown: Vec<(&str, &str, &str)> =
        entries.iter().map(|entry| (entry.plugin.as_str(), entry.node.as_str(), entry.status.as_str())).collect();
    assert_eq!(shown, [("a", "global", "complete"), ("b", "n1", "failed"), ("b", "n2", "running")]);
    assert_eq!((status.status, entries[2].last_heartbeat), (RunPhase::Running, Some(at(1))));

    ledger.ok(5, started("b/n2", 2));
    ledger.ok(6, stored("b/n2", 2));
    assert_eq!(ledger.status(at(6)).status, RunPhase::PostProcessing);
    let counts = [("passed".to_owned(), 3)].into();
    ledger.ok(7, Event::PluginPostProcessed { plugin: plugin("a"), status: Status::Passed, counts });
    ledger.ok(
        7,
        Event::PostProcessed { key: key("b/n2"), status: Status::Failed, counts: [("failed".to_owned(), 1)].into() },
    );
    let entries = ledger.status(at(7)).plugins.unwrap();
    // The tree of a plugin with a single result is the tree of that result.
    assert_eq!(entries[0].result_status, Some(Status::Passed));
    assert_eq!((entries[1].result_status.clone(), entries[2].result_status.clone()), (None, Some(Status::Failed)));
    assert_eq!(ledger.plugin_result(&plugin("a")).unwrap().counts["passed"], 3);
    assert_eq!(ledger.result(&key("b/n2")).unwrap().status, Status::Failed);

    let tar = TarInfo { name: "x.tar.gz".to_owned(), created: at(8), sha256: "0".repeat(64), size: 7 };
    ledger.ok(8, Event::Archived { tar: tar.clone() });
    let status = ledger.status(at(8));
    assert_eq!((status.status, status.tar_info), (RunPhase::Complete, tar));
    // A result is missing, whatever the others are.
    assert_eq!(ledger.verdict(at(8)), Verdict::Incomplete);
}

#[test]
fn a_result_that_waits_for_a_retry_shows_why_its_upload_failed() {
    let mut ledger = ledger();
    let reason = |ledger: &Ledger| ledger.status(at(5)).plugins.unwrap()[1].reason.clone();
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, broken("b/n1", 1));
    assert_eq!(reason(&ledger).as_deref(), Some("connection reset"));
    ledger.ok(3, Event::Problem { key: key("b/n1"), reason: Some("the node is not ready".to_owned()) });
    assert_eq!(reason(&ledger).as_deref(), Some("the node is not ready"), "the current problem comes first");
    ledger.ok(4, started("b/n1", 2));
    assert_eq!(reason(&ledger), None, "the retry is in progress");
    ledger.ok(5, Event::Problem { key: key("b/n1"), reason: None });
    ledger.ok(5, Event::UploadFailed { key: key("b/n1"), upload: 2, reason: "x".repeat(2 * MAX_REASON) });
    assert!(reason(&ledger).unwrap().chars().count() <= MAX_REASON + 1);
}

#[test]
fn the_verdict_knows_the_trees_of_whole_plugins() {
    let mut ledger = ledger();
    for (text, upload) in [("a/global", 1), ("b/n1", 2), ("b/n2", 3)] {
        ledger.ok(1, started(text, upload));
        ledger.ok(2, stored(text, upload));
        ledger.ok(
            3,
            Event::PostProcessed { key: key(text), status: Status::Passed, counts: [("passed".to_owned(), 1)].into() },
        );
    }
    ledger.ok(4, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(5)), Verdict::Passed);
    ledger.ok(6, Event::PluginPostProcessed { plugin: plugin("b"), status: Status::Failed, counts: [].into() });
    assert_eq!(ledger.verdict(at(7)), Verdict::Failed);
}

#[test]
fn verdicts_are_in_the_status_and_replace_the_results_of_plugins() {
    use crate::judgement::{VerdictStatus, VerdictSummary};
    let mut ledger = Ledger::default();
    let mut apply = |event| ledger.apply(at(0), event).unwrap();
    apply(planned("a", &["a/global"]));
    apply(started("a/global", 1));
    apply(stored("a/global", 1));
    apply(Event::PluginPostProcessed { plugin: plugin("a"), status: Status::Failed, counts: [].into() });
    apply(Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(1)), Verdict::Failed);
    assert_eq!(ledger.status(at(1)).verdicts, None);
    let summary =
        VerdictSummary { status: VerdictStatus::Passed, failures: 1, excused: 1, ..VerdictSummary::default() };
    ledger.apply(at(1), Event::PluginJudged { plugin: plugin("a"), summary: summary.clone() }).unwrap();
    assert_eq!(ledger.verdict(at(1)), Verdict::Passed);
    assert_eq!(ledger.plugin_verdict(&plugin("a")), Some(&summary));
    let json = serde_json::to_value(ledger.status(at(1))).unwrap();
    assert_eq!(json["verdicts"]["a"]["status"], "passed");
    assert_eq!(json["plugins"][0]["result-status"], "failed");
    let refused = ledger.apply(at(1), Event::PluginJudged { plugin: plugin("nobody"), summary });
    assert_eq!(refused, Err(Refusal::UnknownPlugin(plugin("nobody"))));
}
