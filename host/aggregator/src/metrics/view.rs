//! The metrics that the ledger knows.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plumbline_core::ledger::{Ledger, ResultTally};
use plumbline_core::run_status::RunPhase;
use plumbline_core::{PluginName, RunId, Status, Verdict};
use plumbline_telemetry::{Family, Point};

/// Statuses with a label of their own. Modules can make up others, which share one label.
static STATUSES: [Status; 6] =
    [Status::Passed, Status::Failed, Status::Skipped, Status::Timeout, Status::Unknown, Status::NotRead];
/// Label of all other statuses.
const OTHER_STATUS: &str = "other";

/// The verdicts that a run can have.
const VERDICTS: [Verdict; 6] = [
    Verdict::Passed,
    Verdict::Failed,
    Verdict::Incomplete,
    Verdict::SystemFailure,
    Verdict::NothingToJudge,
    Verdict::Interrupted,
];

/// Returns the metrics that the ledger knows.
pub(crate) fn ledger_families(ledger: &Ledger, run: &RunId, started: Timestamp, now: Timestamp) -> Vec<Family> {
    let info = [("run", run.to_string()), ("version", env!("CARGO_PKG_VERSION").to_owned())];
    let phase = ledger.phase(now);
    let truth = |is: bool| f64::from(u8::from(is));
    let phases = [RunPhase::Running, RunPhase::PostProcessing, RunPhase::Complete];
    let phases = phases.into_iter().map(|one| Point::new([("phase", one.as_str())], truth(one == phase)));
    let verdict = (phase == RunPhase::Complete).then(|| ledger.verdict(now));
    let verdicts = verdict.into_iter().flat_map(|verdict| {
        VERDICTS.into_iter().map(move |one| Point::new([("verdict", one.as_str())], truth(one == verdict)))
    });
    let start = started.as_millisecond() as f64 / 1000.0;
    let mut families = vec![
        Family::gauge(
            "plumbline_run_info",
            "The ID of the run and the version of Plumbline.",
            [Point { labels: info.into(), value: 1.0 }],
        ),
        Family::gauge(
            "plumbline_run_start_time_seconds",
            "Start of the run, in seconds since 1970.",
            [Point::new([], start)],
        ),
        Family::gauge("plumbline_run_phase", "Phase of the run: 1 for the current one, 0 for the others.", phases),
        Family::gauge(
            "plumbline_run_verdict",
            "Verdict of the finished run: 1 for its verdict, 0 for the others.",
            verdicts,
        ),
    ];
    families.extend(plugin_families(ledger, now));
    families
}

fn plugin_families(ledger: &Ledger, now: Timestamp) -> Vec<Family> {
    let mut states: BTreeMap<&str, u64> = STATES.into_iter().map(|state| (state, 0)).collect();
    let (mut expected, mut results, mut delayed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tests, mut progress) = (Vec::new(), Vec::new());
    for plugin in ledger.plugins() {
        *states.entry(plugin_state(ledger, plugin, now)).or_default() += 1;
        let ResultTally { waiting, uploading, retrying, received, failed, delayed: late } = ledger.tally(plugin);
        let by_state = [
            ("waiting", waiting),
            ("uploading", uploading),
            ("retrying", retrying),
            ("received", received),
            ("failed", failed),
        ];
        let alone = |n: u64| Point::new([("plugin", plugin.as_str())], n as f64);
        expected.push(alone(by_state.iter().map(|(_, n)| n).sum()));
        delayed.push(alone(late));
        let of = |(state, n): (&str, u64)| Point::new([("plugin", plugin.as_str()), ("state", state)], n as f64);
        results.extend(by_state.map(of));
        tests.extend(test_points(ledger, plugin));
        progress.extend(progress_points(ledger, plugin));
    }
    let states = states.into_iter().map(|(state, n)| Point::new([("state", state)], n as f64));
    vec![
        Family::gauge("plumbline_plugins", "Plugins by state.", states),
        Family::gauge(
            "plumbline_results_expected",
            "Expected results: one for each node of a plugin that runs per node, otherwise one.",
            expected,
        ),
        Family::gauge("plumbline_results", "Expected results by state.", results),
        Family::gauge("plumbline_results_delayed", "Results that a known problem currently prevents.", delayed),
        Family::gauge("plumbline_tests", "Tests by status, once the plugin is post-processed.", tests),
        Family::gauge("plumbline_progress_tests", "Tests that plugins have reported so far, by state.", progress),
    ]
}

/// The states of plugins.
const STATES: [&str; 5] = ["complete", "post-processing", "running", "skipped", "waiting"];

fn plugin_state(ledger: &Ledger, plugin: &PluginName, now: Timestamp) -> &'static str {
    if ledger.skipped(plugin).is_some() {
        "skipped"
    } else if ledger.plugin_result(plugin).is_some() {
        "complete"
    } else if ledger.is_plugin_complete(plugin, now) {
        "post-processing"
    } else if ledger.launched(plugin).is_some() {
        "running"
    } else {
        "waiting"
    }
}

fn test_points(ledger: &Ledger, plugin: &PluginName) -> Vec<Point<f64>> {
    let Some(result) = ledger.plugin_result(plugin) else { return Vec::new() };
    let mut counts: BTreeMap<&str, u64> = STATUSES.iter().map(|status| (status.as_str(), 0)).collect();
    for (status, n) in &result.counts {
        let known = STATUSES.iter().find(|known| known.as_str() == status);
        *counts.entry(known.map_or(OTHER_STATUS, Status::as_str)).or_default() += n;
    }
    let point = |(status, n): (&str, u64)| Point::new([("plugin", plugin.as_str()), ("status", status)], n as f64);
    counts.into_iter().map(point).collect()
}

fn progress_points(ledger: &Ledger, plugin: &PluginName) -> Vec<Point<f64>> {
    let reported = || ledger.keys_of(plugin).filter_map(|key| ledger.progress(key));
    if reported().next().is_none() {
        return Vec::new();
    }
    let at_least_0 = |n: i64| u64::try_from(n).unwrap_or_default();
    let (mut total, mut passed, mut failed) = (0_u64, 0_u64, 0_u64);
    for update in reported() {
        total = total.saturating_add(at_least_0(update.total));
        passed = passed.saturating_add(at_least_0(update.completed));
        failed = failed.saturating_add(update.failures.len() as u64).saturating_add(update.omitted);
    }
    let point = |(state, n): (&str, u64)| Point::new([("plugin", plugin.as_str()), ("state", state)], n as f64);
    [("total", total), ("passed", passed), ("failed", failed)].into_iter().map(point).collect()
}
