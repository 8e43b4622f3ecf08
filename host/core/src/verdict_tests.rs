//! Tests for the verdict of a run.

use super::*;
use crate::judgement::VerdictSummary;
use crate::run_status::PluginTotal;

fn entry(status: &str, counts: &[(&str, u64)]) -> PluginStatus {
    PluginStatus {
        plugin: "p".to_owned(),
        node: "global".to_owned(),
        status: EntryStatus::Complete,
        result_status: (!status.is_empty()).then(|| status.into()),
        result_counts: (!counts.is_empty()).then(|| counts.iter().map(|&(status, n)| (status.to_owned(), n)).collect()),
        ..PluginStatus::default()
    }
}

fn complete(statuses: &[&str]) -> RunStatus {
    let plugins = statuses.iter().map(|status| entry(status, &[])).collect();
    RunStatus { plugins: Some(plugins), status: RunPhase::Complete, ..RunStatus::default() }
}

#[test]
fn a_complete_run_is_judged_by_its_results() {
    for (statuses, verdict) in [
        (&["passed"][..], Verdict::Passed),
        (&["passed", "skipped"], Verdict::Passed),
        (&["passed", "not-read"], Verdict::Passed),
        (&["failed", "not-read"], Verdict::Failed),
        (&["skipped"], Verdict::NothingToJudge),
        (&["not-read"], Verdict::NothingToJudge),
        (&["skipped", "not-read"], Verdict::NothingToJudge),
        (&["unknown", "not-read"], Verdict::NothingToJudge),
        (&["skipped: 1, warning: 1"], Verdict::Passed),
        (&["not-read: 1, warning: 1"], Verdict::Passed),
        (&["skipped: 2, unknown: 1"], Verdict::NothingToJudge),
        (&["warning"], Verdict::Passed),
        (&["passed", "warning: 3"], Verdict::Passed),
        (&["passed", "failed"], Verdict::Failed),
        (&["failed", "unknown"], Verdict::Failed),
        (&["passed: 2, failed: 1"], Verdict::Failed),
        (&["failed: 0, passed: 1"], Verdict::Passed),
        (&["warning: 1, timeout: 1"], Verdict::Incomplete),
        (&["timeout"], Verdict::Incomplete),
        (&["failed", "timeout"], Verdict::Incomplete),
        (&["passed", "unknown"], Verdict::Incomplete),
        (&["passed: 1, unknown: 1"], Verdict::Incomplete),
        // Complete, but never read.
        (&["passed", ""], Verdict::Incomplete),
        (&["unknown"], Verdict::NothingToJudge),
        (&["unknown", ""], Verdict::NothingToJudge),
        (&["unknown: 3"], Verdict::NothingToJudge),
        (&[], Verdict::NothingToJudge),
    ] {
        assert_eq!(Verdict::from_run(&complete(statuses)), verdict, "{statuses:?}");
    }
    let none = RunStatus { plugins: None, ..complete(&[]) };
    assert_eq!(Verdict::from_run(&none), Verdict::NothingToJudge);
}

#[test]
fn a_timeout_below_a_failed_parent_makes_the_run_incomplete() {
    let run = RunStatus { plugins: Some(vec![entry("failed", &[("timeout", 1), ("failed", 2)])]), ..complete(&[]) };
    assert_eq!(Verdict::from_run(&run), Verdict::Incomplete);
    let run = RunStatus { plugins: Some(vec![entry("failed", &[("timeout", 0), ("failed", 2)])]), ..complete(&[]) };
    assert_eq!(Verdict::from_run(&run), Verdict::Failed);
}

#[test]
fn a_plugin_that_ran_nothing_has_not_passed() {
    let run = |entries: Vec<PluginStatus>| RunStatus { plugins: Some(entries), ..complete(&[]) };
    let of = |plugin: &str, status: &str, counts: &[(&str, u64)]| PluginStatus {
        plugin: plugin.to_owned(),
        ..entry(status, counts)
    };
    for (entries, verdict) in [
        // In Sonobuoy, a plugin that skipped everything or has no result has passed.
        (vec![of("p", "passed", &[("skipped", 3)])], Verdict::NothingToJudge),
        (vec![of("p", "passed", &[("passed", 0)])], Verdict::NothingToJudge),
        (vec![of("p", "passed", &[("not-read", 3)])], Verdict::NothingToJudge),
        (vec![of("p", "passed", &[("skipped", 3), ("passed", 1)])], Verdict::Passed),
        // A part of the plugin ran, and the outcome of the rest is unknown.
        (vec![of("p", "unknown", &[("passed", 1), ("unknown", 1)])], Verdict::Incomplete),
        (vec![of("p", "unknown", &[("skipped", 1), ("unknown", 1)])], Verdict::NothingToJudge),
        // It ran on another node.
        (vec![of("p", "passed", &[("passed", 1)]), of("p", "skipped", &[("skipped", 3)])], Verdict::Passed),
        // Another plugin that passed does not make up for it.
        (vec![of("p", "passed", &[("passed", 1)]), of("q", "skipped", &[("skipped", 3)])], Verdict::Incomplete),
        (vec![of("p", "passed", &[("passed", 1)]), of("q", "passed", &[("skipped", 3)])], Verdict::Incomplete),
        (vec![of("p", "failed", &[("failed", 1)]), of("q", "skipped", &[("skipped", 3)])], Verdict::Failed),
        // Files that no module reads are neutral.
        (vec![of("p", "passed", &[("passed", 1)]), of("q", "not-read", &[("not-read", 3)])], Verdict::Passed),
        (vec![of("p", "skipped", &[("skipped", 1)]), of("q", "not-read", &[("not-read", 3)])], Verdict::NothingToJudge),
    ] {
        assert_eq!(Verdict::from_run(&run(entries.clone())), verdict, "{entries:?}");
    }
}

#[test]
fn missing_results_take_precedence_over_failures() {
    for missing in [EntryStatus::Running, EntryStatus::Failed, EntryStatus::Other("lost".to_owned())] {
        let mut run = complete(&["failed", "passed"]);
        run.plugins.as_mut().unwrap()[1].status = missing.clone();
        assert_eq!(Verdict::from_run(&run), Verdict::Incomplete, "{missing}");
    }
    for phase in [RunPhase::Running, RunPhase::PostProcessing, RunPhase::Other("paused".to_owned())] {
        let run = RunStatus { status: phase.clone(), ..complete(&["passed"]) };
        assert_eq!(Verdict::from_run(&run), Verdict::Incomplete, "{phase}");
    }
}

#[test]
fn a_run_that_was_ended_or_broke_down_is_that_first() {
    let failed = RunStatus { status: RunPhase::Failed, ..complete(&["failed"]) };
    assert_eq!(Verdict::from_run(&failed), Verdict::SystemFailure);
    assert_eq!(Verdict::from_run(&RunStatus { interrupted: true, ..failed }), Verdict::Interrupted);
    assert_eq!(Verdict::from_run(&RunStatus { interrupted: true, ..complete(&["passed"]) }), Verdict::Interrupted);
}

#[test]
fn whole_trees_may_be_worse_than_their_parts() {
    let run = complete(&["passed"]);
    let counts = [("timeout".to_owned(), 1)].into();
    for (status, counts, verdict) in [
        (Status::Passed, None, Verdict::Passed),
        (Status::Failed, None, Verdict::Failed),
        (Status::Unknown, None, Verdict::Incomplete),
        (Status::Failed, Some(&counts), Verdict::Incomplete),
    ] {
        let total = PluginTotal { status: status.clone(), counts: counts.cloned(), ..PluginTotal::default() };
        let run = RunStatus { totals: [("p".to_owned(), total)].into(), ..run.clone() };
        assert_eq!(Verdict::from_run(&run), verdict, "{status}");
    }
}

#[test]
fn each_verdict_has_the_exit_code_that_the_manual_lists() {
    let codes: Vec<(String, u8)> = [
        Verdict::Passed,
        Verdict::Failed,
        Verdict::Incomplete,
        Verdict::SystemFailure,
        Verdict::NothingToJudge,
        Verdict::Interrupted,
    ]
    .iter()
    .map(|verdict| (verdict.to_string(), verdict.exit_code()))
    .collect();
    let expected = [
        ("passed", 0),
        ("failed", 1),
        ("incomplete", 3),
        ("system failure", 4),
        ("nothing to judge", 5),
        ("interrupted", 130),
    ];
    assert_eq!(codes, expected.map(|(word, code)| (word.to_owned(), code)));
}

#[test]
fn the_verdict_of_judges_replaces_the_results_of_a_plugin() {
    let judged = |results: &[&str], verdict: VerdictStatus| {
        let summary = VerdictSummary { status: verdict, ..VerdictSummary::default() };
        RunStatus { verdicts: Some([("p".to_owned(), summary)].into()), ..complete(results) }
    };
    for (results, verdict, expected) in [
        (&["failed"][..], VerdictStatus::Passed, Verdict::Passed),
        (&["timeout"], VerdictStatus::Passed, Verdict::Passed),
        (&["passed"], VerdictStatus::Failed, Verdict::Failed),
        (&["passed"], VerdictStatus::Unknown, Verdict::Incomplete),
        (&["failed"], VerdictStatus::Unknown, Verdict::Incomplete),
        (&["unknown"], VerdictStatus::Unknown, Verdict::NothingToJudge),
        (&["unknown"], VerdictStatus::Passed, Verdict::Passed),
    ] {
        assert_eq!(Verdict::from_run(&judged(results, verdict)), expected, "{results:?} {verdict}");
    }
    // A missing result stays missing, and other plugins keep their results.
    let mut run = judged(&["failed"], VerdictStatus::Passed);
    run.plugins.as_mut().unwrap().push(PluginStatus { plugin: "q".to_owned(), ..entry("failed", &[]) });
    assert_eq!(Verdict::from_run(&run), Verdict::Failed);
    let mut run = judged(&["failed"], VerdictStatus::Passed);
    run.plugins.as_mut().unwrap()[0].status = EntryStatus::Failed;
    assert_eq!(Verdict::from_run(&run), Verdict::Incomplete);
    let run = RunStatus { interrupted: true, ..judged(&["passed"], VerdictStatus::Passed) };
    assert_eq!(Verdict::from_run(&run), Verdict::Interrupted);
}
