//! Tests for the results of whole plugins, which their entries may not show.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::words::{Short, at, key, planned, plugin, started, stored};
use crate::judgement::{VerdictStatus, VerdictSummary};
use crate::ledger::{Event, Judged, Ledger};
use crate::rollup::Tally;
use crate::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus, TarInfo};
use crate::{Status, Verdict};

/// The statuses of leaves.
type Leaves = Vec<&'static str>;

/// Rolls up a tree of nodes, with a summary next to them. Returns the result of each node, and that
/// of the root.
fn rolled_up(nodes: &[Leaves], summary: &[&'static str]) -> (Vec<Judged>, Judged) {
    let all: Vec<Status> = nodes.iter().flatten().chain(summary).map(|status| Status::from(*status)).collect();
    let custom = all.iter().any(Status::is_custom);
    let mut root = Tally::default();
    let mut results = Vec::new();
    for leaves in nodes {
        let mut node = Tally::default();
        leaves.iter().for_each(|status| node.add_leaf(&Status::from(*status)));
        let result = Judged { status: node.result(custom), counts: node.counts() };
        root.add(&result.status);
        results.push(result);
    }
    summary.iter().for_each(|status| root.add(&Status::from(*status)));
    let mut counts = Tally::default();
    all.iter().for_each(|status| counts.add_leaf(status));
    (results, Judged { status: root.result(custom), counts: counts.counts() })
}

/// Returns the ledger of a finished run. Plugin `a` has one result, and `b` has one of each node.
fn finished(a: Judged, nodes: Vec<Judged>, b: Judged, verdict: Option<VerdictStatus>) -> Ledger {
    let keys: Vec<String> = (0..nodes.len()).map(|n| format!("b/n{n}")).collect();
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &["a/global"]));
    ledger.ok(0, planned("b", &keys.iter().map(String::as_str).collect::<Vec<_>>()));
    if nodes.is_empty() {
        ledger.ok(0, Event::NothingExpected { plugin: plugin("b"), reason: "none of 3 nodes fits".to_owned() });
    }
    for text in keys.iter().map(String::as_str).chain(["a/global"]) {
        ledger.ok(1, started(text, 1));
        ledger.ok(2, stored(text, 1));
    }
    for (text, Judged { status, counts }) in keys.iter().zip(nodes) {
        ledger.ok(3, Event::PostProcessed { key: key(text), status, counts });
    }
    for (name, Judged { status, counts }) in [("a", a), ("b", b)] {
        ledger.ok(4, Event::PluginPostProcessed { plugin: plugin(name), status, counts });
    }
    if let Some(status) = verdict {
        let summary = VerdictSummary { status, ..VerdictSummary::default() };
        ledger.ok(5, Event::PluginJudged { plugin: plugin("b"), summary });
    }
    ledger.ok(6, Event::Archived { tar: TarInfo::default() });
    ledger
}

#[test]
fn a_result_that_no_entry_shows_is_in_the_status() {
    let passed = || rolled_up(&[], &["passed"]).1;
    let of = |nodes: &[Leaves], summary: &[&'static str]| {
        let (results, total) = rolled_up(nodes, summary);
        let ledger = finished(passed(), results, total, None);
        let status = serde_json::to_value(ledger.status(at(7))).unwrap();
        (ledger.verdict(at(7)), status.get("totals").cloned().unwrap_or_default())
    };
    let nodes = [vec!["passed"], vec!["passed"]];
    let drift = json!({"b": {"status": "failed", "counts": {"failed": 1, "passed": 2}}});
    assert_eq!(of(&nodes, &["failed"]), (Verdict::Failed, drift));
    let crash = json!({"b": {"status": "unknown", "counts": {"passed": 2, "unknown": 1}}});
    assert_eq!(of(&nodes, &["unknown"]), (Verdict::Incomplete, crash));
    let nowhere = json!({"b": {"status": "unknown", "counts": {}, "reason": "none of 3 nodes fits"}});
    assert_eq!(of(&[], &[]), (Verdict::Incomplete, nowhere));
    // The only entry of a plugin shows its result.
    assert_eq!(of(&nodes[..1], &[]), (Verdict::Passed, Value::Null));
}

fn leaves(least: usize) -> impl Strategy<Value = Leaves> {
    let statuses = vec!["passed", "passed", "failed", "timeout", "unknown", "skipped", "not-read", "warning", "FAILED"];
    prop::collection::vec(prop::sample::select(statuses), least..4)
}

fn verdict() -> impl Strategy<Value = Option<VerdictStatus>> {
    let verdicts = vec![VerdictStatus::Passed, VerdictStatus::Failed, VerdictStatus::Unknown];
    prop::option::of(prop::sample::select(verdicts))
}

proptest! {
    /// An archive has the trees of whole plugins. A status has their parts, and what they do not show.
    #[test]
    fn the_status_leads_to_the_verdict_of_the_archive(
        one in leaves(1),
        nodes in prop::collection::vec(leaves(1), 0..3),
        summary in leaves(0),
        verdict in verdict(),
    ) {
        // Without results, there is no summary.
        let summary = if nodes.is_empty() { Leaves::new() } else { summary };
        let (_, a) = rolled_up(&[], &one);
        let (results, b) = rolled_up(&nodes, &summary);
        let entry = |plugin: &str, result: &Judged| PluginStatus {
            plugin: plugin.to_owned(),
            status: EntryStatus::Complete,
            result_status: Some(result.status.clone()),
            result_counts: Some(result.counts.clone()),
            ..PluginStatus::default()
        };
        let judged = |status| [("b".to_owned(), VerdictSummary { status, ..VerdictSummary::default() })].into();
        let archive = RunStatus {
            plugins: Some(vec![entry("a", &a), entry("b", &b)]),
            status: RunPhase::Complete,
            verdicts: verdict.map(judged),
            ..RunStatus::default()
        };
        let status = finished(a, results, b, verdict).status(at(7));
        // What readers get.
        let status: RunStatus = serde_json::from_value(serde_json::to_value(status).unwrap()).unwrap();
        prop_assert_eq!(Verdict::from_run(&status), Verdict::from_run(&archive), "{:?}", status);
    }
}
