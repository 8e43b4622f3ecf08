//! Tests that a compacted status stays below its limit and keeps its sums.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::progress::ProgressUpdate;
use crate::verdict::Verdict;

const LIMIT: usize = 100 << 10;

fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

fn entry(plugin: &str, node: &str, status: EntryStatus, result: Option<&str>) -> PluginStatus {
    PluginStatus {
        plugin: plugin.to_owned(),
        node: node.to_owned(),
        status,
        result_status: result.map(Status::from),
        result_counts: result.map(|result| [(result.to_owned(), 3)].into()),
        last_heartbeat: Some(now() - SignedDuration::from_secs(10)),
        ..PluginStatus::default()
    }
}

fn run(entries: Vec<PluginStatus>) -> RunStatus {
    RunStatus { plugins: Some(entries), run: Some("7f3a9c00".to_owned()), ..RunStatus::default() }
}

fn read(compacted: &Compacted) -> RunStatus {
    serde_json::from_str(&compacted.json).unwrap()
}

/// Counts results by status.
fn sums(status: &RunStatus) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for entry in status.plugins.iter().flatten() {
        let word = match &entry.status {
            EntryStatus::Other(_) => "running".to_owned(),
            known => known.to_string(),
        };
        *sums.entry(word).or_default() += entry.count();
    }
    sums
}

/// Builds a run of 5,000 nodes and 2 plugins.
fn large(mut make: impl FnMut(usize, &str, &str) -> PluginStatus) -> RunStatus {
    let mut entries = Vec::new();
    for plugin in ["systemd-logs", "kube-bench"] {
        for n in 0..5000 {
            entries.push(make(n, plugin, &format!("ip-10-20-{}-{}.eu-central-1.compute.internal", n / 256, n % 256)));
        }
    }
    run(entries)
}

#[test]
fn a_small_status_is_unchanged() {
    let status = run(vec![entry("e2e", "global", EntryStatus::Running, None)]);
    let compacted = compact(&status, now(), LIMIT);
    assert_eq!(compacted.level, Level::Full);
    assert_eq!(read(&compacted), RunStatus { heartbeat: Some(now()), ..status });
    assert!(!compacted.json.contains("compacted"));
}

#[test]
fn names_go_first_and_their_number_stays() {
    let failures: Vec<String> =
        (0..5000).map(|n| format!("[sig-storage] a long name of a test, number {n:05}")).collect();
    let reasons = [0, 4999].map(|n: usize| (failures[n].clone(), "no route".to_owned())).into();
    let progress = ProgressUpdate { total: 7000, completed: 100, failures, reasons, ..ProgressUpdate::default() };
    let mut first = entry("e2e", "global", EntryStatus::Running, None);
    first.progress = Some(Box::new(progress));
    let compacted = compact(&run(vec![first]), now(), LIMIT);
    assert_eq!(compacted.level, Level::Names);
    let status = read(&compacted);
    let progress = status.plugins.unwrap()[0].progress.clone().unwrap();
    assert_eq!((progress.failed(), progress.remaining()), (5000, Some(1900)));
    assert!(progress.failures.len() > 10, "the first names stay: {}", progress.failures.len());
    assert!(!progress.reasons.contains_key("[sig-storage] a long name of a test, number 04999"), "its name is dropped");
    assert_eq!(status.compacted.as_deref(), Some("names"));
}

#[test]
fn at_five_thousand_nodes_what_passed_is_folded_and_what_is_in_trouble_is_named() {
    let status = large(|n, plugin, node| match n {
        7 => PluginStatus { last_heartbeat: None, ..entry(plugin, node, EntryStatus::Failed, None) },
        8 => entry(plugin, node, EntryStatus::Complete, Some("failed")),
        9 => PluginStatus { last_heartbeat: None, ..entry(plugin, node, EntryStatus::Running, None) },
        n if n < 4000 => entry(plugin, node, EntryStatus::Complete, Some("passed")),
        _ => entry(plugin, node, EntryStatus::Running, None),
    });
    let compacted = compact(&status, now(), LIMIT);
    assert_eq!(compacted.level, Level::Healthy);
    let lines: Vec<String> = serde_json::from_str::<Value>(&compacted.json).unwrap()["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {} {} {}", entry["plugin"], entry["node"], entry["status"], entry["folded"]))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    "systemd-logs" "3997 nodes" "complete" 3997
    "systemd-logs" "ip-10-20-0-7.eu-central-1.compute.internal" "failed" null
    "systemd-logs" "ip-10-20-0-8.eu-central-1.compute.internal" "complete" null
    "systemd-logs" "ip-10-20-0-9.eu-central-1.compute.internal" "running" null
    "systemd-logs" "1000 nodes" "running" 1000
    "kube-bench" "3997 nodes" "complete" 3997
    "kube-bench" "ip-10-20-0-7.eu-central-1.compute.internal" "failed" null
    "kube-bench" "ip-10-20-0-8.eu-central-1.compute.internal" "complete" null
    "kube-bench" "ip-10-20-0-9.eu-central-1.compute.internal" "running" null
    "kube-bench" "1000 nodes" "running" 1000
    "#);
    let counts = read(&compacted).plugins.unwrap()[0].result_counts.clone().unwrap();
    assert_eq!(counts["passed"], 3 * 3997);
}

#[test]
fn when_all_are_in_trouble_the_first_are_named() {
    let status = large(|_, plugin, node| entry(plugin, node, EntryStatus::Failed, Some("timeout")));
    let compacted = compact(&status, now(), LIMIT);
    assert_eq!(compacted.level, Level::Plugins);
    assert!(compacted.json.len() <= LIMIT);
    let shown = read(&compacted);
    assert_eq!(sums(&shown), sums(&status));
    let named = shown.plugins.unwrap().iter().filter(|entry| entry.folded.is_none()).count();
    assert!(named >= 400, "{named}");
}

#[test]
fn more_plugins_than_fit_stand_together() {
    let entries =
        (0..3000).map(|n| entry(&format!("plugin-{n}"), "global", EntryStatus::Complete, Some("a: 1"))).collect();
    let compacted = compact(&run(entries), now(), LIMIT);
    assert_eq!(compacted.level, Level::Totals);
    let plugins = read(&compacted).plugins.unwrap();
    assert_eq!(plugins.len(), 1);
    assert_eq!((plugins[0].plugin.as_str(), plugins[0].node.as_str()), ("3000 plugins", "3000 nodes"));
}

#[test]
fn one_entry_that_is_too_large_does_not_count_as_too_many() {
    let huge = entry(&"p".repeat(300_000), "global", EntryStatus::Other("w".repeat(300_000)), Some("x"));
    let compacted = compact(&run(vec![huge]), now(), LIMIT);
    assert!(compacted.json.len() <= LIMIT);
    assert_eq!(sums(&read(&compacted)), [("running".to_owned(), 1)].into());
}

#[test]
fn totals_keep_their_meaning_at_every_level() {
    let entries: Vec<_> =
        (0..300).map(|n| entry(&format!("plugin-{n}"), "global", EntryStatus::Complete, Some("passed"))).collect();
    let total = |status: &str, reason: Option<&str>| PluginTotal {
        status: status.into(),
        // Many statuses with long names.
        counts: Some(
            (0..100).map(|n| (format!("{n} {}", "x".repeat(90)), 1)).chain([(status.to_owned(), 1)]).collect(),
        ),
        reason: reason.map(str::to_owned),
    };
    for (status, verdict) in
        [("failed", Verdict::Failed), ("timeout", Verdict::Incomplete), ("unknown", Verdict::Incomplete)]
    {
        let mut totals: BTreeMap<String, PluginTotal> =
            (0..30).map(|n| (format!("plugin-{n}"), total("passed", None))).collect();
        totals.insert("nowhere".to_owned(), total(status, Some("none of 3 nodes fits")));
        let status = RunStatus { status: RunPhase::Complete, totals, ..run(entries.clone()) };
        assert_eq!(Verdict::from_run(&status), verdict);
        for (limit, level) in [(1 << 20, Level::Full), (LIMIT, Level::Passed), (MIN_LIMIT, Level::Totals)] {
            let compacted = compact(&status, now(), limit);
            let shown = read(&compacted);
            assert_eq!((compacted.level, Verdict::from_run(&shown)), (level, verdict), "{}", compacted.json);
            let reason = shown.totals.get("nowhere").and_then(|total| total.reason.as_deref());
            assert_eq!(reason.is_some(), level < Level::Totals);
        }
    }
}

fn any_result() -> impl Strategy<Value = &'static str> {
    let results = [
        "passed",
        "failed",
        "timeout",
        "unknown",
        "skipped",
        "not-read",
        "mine",
        "a: 1, failed: 2",
        "b: 1, unknown: 3",
        "x: 0",
    ];
    prop::sample::select(results.to_vec())
}

fn any_counts() -> impl Strategy<Value = Option<BTreeMap<String, u64>>> {
    prop::option::of(prop::collection::btree_map("timeout|failed|skipped|not-read|[a-z]{1,9}", 0u64..9, 0..4))
}

fn any_total() -> impl Strategy<Value = PluginTotal> {
    (any_result(), any_counts(), prop::option::of("[a-z\"]{0,400}")).prop_map(|(status, counts, reason)| PluginTotal {
        status: status.into(),
        counts,
        reason,
    })
}

fn any_entry() -> impl Strategy<Value = PluginStatus> {
    let status = prop::sample::select(&["running", "complete", "complete", "failed", "timed_out", "odd"][..]);
    let (result, counts) = (prop::option::weighted(0.8, any_result()), any_counts());
    let names = prop::collection::vec("[a-z\"\\n]{0,60}", 0..40);
    let progress = prop::option::weighted(0.2, (names.clone(), names, 0i64..99, "[a-z]{0,99}"));
    ("[a-c]{1,2}", "[a-z]{1,40}", status, result, counts, progress, prop::option::of(0i64..200)).prop_map(
        |(plugin, node, status, result, result_counts, progress, age)| PluginStatus {
            plugin,
            node,
            status: status.to_owned().into(),
            result_status: result.map(Status::from),
            result_counts,
            progress: progress.map(|(failures, errors, total, msg)| {
                Box::new(ProgressUpdate { failures, errors, total, msg, ..ProgressUpdate::default() })
            }),
            last_heartbeat: age.map(|age| now() - SignedDuration::from_secs(age)),
            reason: age.map(|age| "why ".repeat(usize::try_from(age).unwrap())),
            folded: None,
        },
    )
}

fn any_verdict() -> impl Strategy<Value = VerdictSummary> {
    let status = prop::sample::select(vec![VerdictStatus::Passed, VerdictStatus::Failed, VerdictStatus::Unknown]);
    // Class names are long enough that the last level has to drop them.
    let classes = prop::collection::btree_map("[a-z]{60,64}", any::<u64>(), 0..9);
    (status, any::<u64>(), classes).prop_map(|(status, failures, classes)| VerdictSummary {
        status,
        failures,
        classes: classes
            .into_iter()
            .map(|(class, items)| (class, crate::judgement::ClassCount { items, ..Default::default() }))
            .collect(),
        ..VerdictSummary::default()
    })
}

#[test]
fn verdicts_that_do_not_fit_leave_the_worst_of_them() {
    let entries: Vec<_> =
        (0..300).map(|n| entry(&format!("plugin-{n}"), "global", EntryStatus::Complete, Some("failed"))).collect();
    let verdict = |n: usize| VerdictSummary {
        status: if n == 7 { VerdictStatus::Unknown } else { VerdictStatus::Passed },
        failures: 1,
        ..VerdictSummary::default()
    };
    let verdicts = (0..300).map(|n| (format!("plugin-{n}"), verdict(n))).collect();
    let status = RunStatus { status: RunPhase::Complete, verdicts: Some(verdicts), ..run(entries) };
    assert_eq!(Verdict::from_run(&status), Verdict::Incomplete);
    let shown = read(&compact(&status, now(), MIN_LIMIT));
    assert_eq!(Verdict::from_run(&shown), Verdict::Incomplete);
    let verdicts = shown.verdicts.unwrap();
    assert_eq!((verdicts.len(), verdicts["all judged"].failures), (1, 300));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn it_fits_and_sums_and_verdict_stay(
        entries in prop::collection::vec(any_entry(), 0..300),
        phase in prop::sample::select(&["running", "complete", "complete", "post-processing", "failed"][..]),
        limit in 0usize..(64 << 10),
        verdicts in prop::option::of(prop::collection::btree_map("[a-d]{1,2}", any_verdict(), 1..9)),
        totals in prop::collection::btree_map("[a-d]{1,2}", any_total(), 0..9),
        // Quotes take twice as many bytes once they are escaped.
        failure in prop::option::of(("[\"a]{0,3000}", prop::option::of("[\"a]{0,2000}"))),
        delivery in prop::option::of("[\"a]{0,9000}"),
    ) {
        // Only plugins of the run can have a verdict.
        let verdicts = verdicts.map(|mut verdicts| {
            let is_entry = |plugin: &String| entries.iter().any(|entry| entry.plugin == *plugin);
            verdicts.retain(|plugin, _| is_entry(plugin) || totals.contains_key(plugin));
            verdicts
        });
        let verdicts = verdicts.filter(|verdicts| !verdicts.is_empty());
        let failure = failure.map(|(reason, hint)| RunFailure::new(&reason, hint.as_deref()));
        let status = RunStatus { status: phase.to_owned().into(), verdicts, totals, failure, delivery, ..run(entries) };
        let compacted = compact(&status, now(), limit);
        let begins = |text: &str| text.chars().take(400).collect::<String>();
        prop_assert!(compacted.json.len() <= limit.max(MIN_LIMIT), "{} > {}", compacted.json.len(), limit);
        let shown = read(&compacted);
        prop_assert_eq!(sums(&shown), sums(&status));
        prop_assert_eq!(Verdict::from_run(&shown), Verdict::from_run(&status), "{:?}", compacted.level);
        prop_assert_eq!(shown.heartbeat, Some(now()));
        let reason = |status: &RunStatus| status.failure.as_ref().map(|failure| begins(&failure.reason));
        prop_assert_eq!(reason(&shown), reason(&status));
        prop_assert_eq!(shown.delivery.as_deref().map(begins), status.delivery.as_deref().map(begins));
        let failed = |status: &RunStatus| -> u64 {
            status.plugins.iter().flatten().filter_map(|entry| entry.progress.as_deref()).map(ProgressUpdate::failed).sum()
        };
        if compacted.level <= Level::Names {
            prop_assert_eq!(failed(&shown), failed(&status));
        }
    }
}
