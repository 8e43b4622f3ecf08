use plumbline_app::report::status::{period, progress};
use serde_json::{Value, json};

use super::*;

pub(in crate::ui) fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

pub(in crate::ui) fn seen(plugins: Value) -> Seen {
    Seen {
        namespace: "sonobuoy".to_owned(),
        pod: "sonobuoy".to_owned(),
        status: serde_json::from_value(json!({"status": "running", "run": "51c0de00", "plugins": plugins})).unwrap(),
        began: Some("2026-11-20T12:48:00Z".parse().unwrap()),
        restarts: 0,
        waiting: Vec::new(),
    }
}

pub(in crate::ui) fn pulling(node: &str) -> Waiting {
    Waiting {
        pod: format!("pod-{node}"),
        plugin: Some("logs".to_owned()),
        node: Some(node.to_owned()),
        reason: "ImagePullBackOff".to_owned(),
        message: String::new(),
        image: Some("r/i:1".to_owned()),
        since: Some("2026-11-20T12:59:20Z".parse().unwrap()),
    }
}

fn plugins(seen: &Seen) -> Vec<Plugin<'_>> {
    RunView::of_cluster(seen).plugins(now())
}

#[test]
fn nodes_are_summed_whether_they_were_folded_or_not() {
    let mut seen = seen(json!([
        {"plugin": "e2e", "node": "global", "status": "running", "progress":
            {"timestamp": "2026-11-20T12:50:00Z", "total": 404, "completed": 201, "failures": ["a", "b"],
             "reasons": {"a": "", "b": "no\nroute"}, "msg": "on\nit"}},
        {"plugin": "logs", "node": "9 nodes", "status": "complete", "folded": 9, "result-status": "passed"},
        {"plugin": "logs", "node": "n1", "status": "complete", "result-status": "failed"},
        {"plugin": "logs", "node": "n2", "status": "failed"},
        {"plugin": "logs", "node": "n3", "status": "running"},
    ]));
    seen.waiting = vec![pulling("n3")];
    let all = plugins(&seen);
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].position(), all[0].stalled.unwrap().0.as_mins()), ((203, 404), 10));
    assert_eq!((all[1].expected, all[1].received, all[1].missing, all[1].waiting.len()), (12, 10, 1, 1));
    assert_eq!((all[1].position(), &all[1].phase, all[1].tone), ((11, 12), &Phase::Running, Tone::Plain));
    assert_eq!(
        head(&seen, "kind-prod", now()),
        "run 51c0de · cluster kind-prod · namespace sonobuoy · 2 plugins, 13 expected results · 12 min"
    );
    let failed = |name: &str, reason: Option<&str>| FailedTest {
        source: "e2e".to_owned(),
        name: name.to_owned(),
        reason: reason.map(str::to_owned),
    };
    assert_eq!(failed_tests(&seen.status, 3), (vec![failed("b", Some("no route")), failed("a", None)], 0));
    assert_eq!(failed_tests(&seen.status, 1), (vec![failed("b", Some("no route"))], 1));
}

#[test]
fn the_result_of_a_whole_plugin_counts() {
    let entry = |node: &str| json!({"plugin": "facts", "node": node, "status": "complete", "result-status": "passed", "result-counts": {"passed": 3}});
    let mut seen = seen(json!([entry("n1"), entry("n2")]));
    seen.status.totals = serde_json::from_value(json!({
        "facts": {"status": "failed", "counts": {"failed": 1, "passed": 6}},
        "nowhere": {"status": "unknown", "counts": {}, "reason": "none of 3 nodes fits"},
    }))
    .unwrap();
    let all: Vec<String> = plugins(&seen).iter().map(|p| format!("{}: {:?} {:?}", p.name, p.phase, p.counts)).collect();
    assert_eq!(all, [r#"facts: Ended("failed") {"failed": 1, "passed": 6}"#, r#"nowhere: Ended("unknown") {}"#]);
}

#[test]
fn impossible_numbers_saturate() {
    let huge = |node: &str| {
        json!({"plugin": "p", "node": node, "status": "running", "folded": u64::MAX, "progress":
            {"total": i64::MAX, "completed": i64::MAX, "failures": ["a"], "omitted": u64::MAX}})
    };
    let seen = seen(json!([huge("n1"), huge("n2"), huge("n3")]));
    let all = plugins(&seen);
    assert_eq!((all[0].expected, all[0].tests.unwrap().done()), (u64::MAX, u64::MAX));
    assert_eq!(failed_tests(&seen.status, 3).1, u64::MAX - 3);
    assert!(head(&seen, "c", now()).contains("1 plugin, "));
}

#[test]
fn every_way_to_be_and_to_end_has_its_word_and_colour() {
    let entry = |plugin: &str, more: Value| {
        let mut entry = json!({"plugin": plugin, "node": "global", "status": "complete"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let with_result = |plugin: &str, result: &str| entry(plugin, json!({"result-status": result}));
    let mut seen = seen(json!([
        entry("later", json!({"status": "running"})),
        entry("pulling", json!({"status": "running"})),
        entry("launched", json!({"status": "running"})),
        entry("running", json!({"status": "running", "last-heartbeat": "2026-11-20T12:59:00Z"})),
        entry("reading", json!({})),
        with_result("good", "passed"),
        with_result("bad", "failed"),
        with_result("late", "timeout"),
        with_result("unsure", "unknown"),
        with_result("custom-good", "complete: 2, warning: 3"),
        with_result("custom-bad", "failed: 1, warning: 3"),
        entry("lost", json!({"status": "failed"})),
        with_result("some", "passed"),
        entry("some", json!({"status": "failed", "node": "n2", "result-status": "failed"})),
        with_result("excused", "failed"),
        with_result("counted", "passed"),
        with_result("unjudged", "passed"),
    ]));
    let verdict = |status: &str| json!({"status": status, "failures": 1, "excused": 1});
    seen.status.verdicts = serde_json::from_value(
        json!({"excused": verdict("passed"), "counted": verdict("failed"), "unjudged": verdict("unknown")}),
    )
    .unwrap();
    seen.status.launched = [("launched".to_owned(), now()), ("running".to_owned(), now())].into();
    seen.waiting = vec![Waiting { plugin: Some("pulling".to_owned()), ..pulling("n1") }];
    let all: Vec<String> = plugins(&seen).iter().map(|p| format!("{}: {:?} {:?}", p.name, p.phase, p.tone)).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    later: Waiting Plain
    pulling: Waiting Plain
    launched: Starting Plain
    running: Running Plain
    reading: Reading Plain
    good: Ended("passed") Good
    bad: Ended("failed") Bad
    late: Ended("timeout") Bad
    unsure: Ended("unknown") Warning
    custom-good: Ended("complete: 2, warning: 3") Warning
    custom-bad: Ended("failed: 1, warning: 3") Bad
    lost: Ended("no result") Bad
    some: Ended("failed") Bad
    excused: Ended("passed") Good
    counted: Ended("failed") Bad
    unjudged: Ended("unknown") Warning
    "#);
}

#[test]
fn a_plugin_of_an_aggregator_without_launch_times_counts_as_starting() {
    let mut seen = seen(json!([{"plugin": "e2e", "node": "global", "status": "running"}]));
    assert_eq!(plugins(&seen)[0].phase, Phase::Waiting);
    seen.status.run = None;
    assert_eq!(plugins(&seen)[0].phase, Phase::Starting);
}

#[test]
fn periods_have_one_unit_or_two() {
    let all = [0, 59, 60, 3599, 3660, 200_000].map(|seconds| period(SignedDuration::from_secs(seconds)));
    assert_eq!(all, ["0 s", "59 s", "1 min", "59 min", "1 h 1 min", "2 days"]);
}

#[test]
fn progress_is_one_line() {
    let seen = seen(json!([{"plugin": "a", "node": "global", "status": "running",
        "progress": {"total": 3, "completed": 1, "failures": ["x"], "msg": "on\u{1b}[2J it\nmore"}}]));
    let text = progress(&seen.status.plugins.as_ref().unwrap()[0]).unwrap();
    assert_eq!(text, "2/3   1 passed or skipped   1 failed   on\u{fffd}[2J it");
}
