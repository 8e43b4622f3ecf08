use plumbline_kubernetes::status::Seen;
use serde_json::{Value, json};

use super::super::plugins::tests::{now, pulling, seen};
use super::*;

fn lines(log: &mut EventLog, seen: &Seen) -> Vec<String> {
    lines_at(log, seen, now())
}

fn lines_at(log: &mut EventLog, seen: &Seen, at: Timestamp) -> Vec<String> {
    log.lines(RunView::of_cluster(seen), at).iter().map(|line| line.render(false)).collect()
}

#[test]
fn each_skipped_plugin_is_reported_once() {
    let status: RunStatus =
        serde_json::from_value(json!({"skipped": {"retry": "no test failed in `e2e`\nmore"}})).unwrap();
    let mut skipped = SkippedPlugins::default();
    assert_eq!(skipped.lines(&status), ["retry: skipped: no test failed in `e2e`"]);
    assert!(skipped.lines(&status).is_empty());
}

#[test]
fn each_event_is_reported_once() {
    let e2e = |status: &str, failures: Value, result: &str| {
        json!({"plugin": "e2e", "node": "global", "status": status, "result-status": result, "last-heartbeat": "2026-11-20T12:59:00Z",
            "progress": {"timestamp": "2026-11-20T12:59:00Z", "total": 404, "completed": 201, "failures": failures,
                "reasons": {"a test": "quotas are denied here"}}})
    };
    let logs = |n: u32, status: &str| json!({"plugin": "logs", "node": format!("n{n}"), "status": status});
    let mut ended = e2e("complete", json!(["a test"]), "failed");
    ended["result-counts"] = json!({"passed": 403, "failed": 1, "skipped": 6_000, "warning": 2});
    let mut looks = vec![
        seen(json!([{"plugin": "e2e", "node": "global", "status": "running"}, logs(1, "running"), logs(2, "running")])),
        seen(json!([e2e("running", json!([]), ""), logs(1, "running"), logs(2, "running")])),
        seen(json!([e2e("running", json!(["a test"]), ""), logs(1, "complete"), logs(2, "running")])),
        seen(json!([e2e("running", json!(["a test"]), ""), logs(1, "complete"), logs(2, "failed")])),
        seen(json!([ended, logs(1, "complete"), logs(2, "failed")])),
    ];
    looks[2].waiting = vec![pulling("n2")];
    looks[3].waiting = vec![pulling("n2")];
    looks[4].status.status = "post-processing".to_owned().into();
    let verdict = json!({"e2e": {"status": "passed", "failures": 1, "excused": 1}});
    looks[4].status.verdicts = serde_json::from_value(verdict).unwrap();
    let mut log = EventLog::default();
    let mut text = String::new();
    for look in &looks {
        text.push_str(&format!("{}\n--\n", lines(&mut log, look).join("\n")));
        assert_eq!(lines(&mut log, look), [""; 0], "nothing is reported twice");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn each_reason_for_missing_results_is_reported_once() {
    let entry = |plugin: &str, node: &str, status: &str, reason: &str| json!({"plugin": plugin, "node": node, "status": status, "reason": reason});
    let mut log = EventLog::default();
    let first = seen(json!([
        entry("e2e", "global", "running", "the worker is silent"),
        entry("logs", "n1", "running", "image `a` cannot be pulled"),
        entry("logs", "n2", "running", "container `x` ended\u{1b} with exit code 3"),
    ]));
    let second = seen(json!([
        entry("e2e", "global", "timed_out", "timeout waiting for results"),
        entry("logs", "n1", "failed", "image `a` could not be pulled within 5m"),
        entry("logs", "n2", "running", "container `x` ended\u{1b} with exit code 3"),
    ]));
    let mut look = first.clone();
    look.waiting = vec![pulling("n1")];
    look.waiting[0].plugin = Some("logs".to_owned());
    let output = [lines(&mut log, &look), lines(&mut log, &second), lines(&mut log, &second)].concat().join("\n");
    insta::assert_snapshot!(output, @"
    e2e: still waiting: the worker is silent
    logs on n1: waiting: image `r/i:1` cannot be pulled (ImagePullBackOff)
    logs on n2: still waiting: container `x` ended\u{fffd} with exit code 3
    e2e: no result: timeout waiting for results
    logs: 0 of 2 results, 1 will not arrive
    logs on n1: no result: image `a` could not be pulled within 5m
    ");
}

#[test]
fn stalled_and_skipped_plugins_are_reported_once() {
    let mut log = EventLog::default();
    let mut look = seen(json!([{"plugin": "e2e", "node": "global", "status": "running"}]));
    look.status.launched = [("e2e".to_owned(), "2026-11-20T12:48:00Z".parse().unwrap())].into();
    look.status.skipped = [("e2e-retry-1".to_owned(), "no test failed in `e2e`".to_owned())].into();
    insta::assert_snapshot!(lines(&mut log, &look).join("\n"), @"
    e2e-retry-1: skipped: no test failed in `e2e`
    e2e: no progress for 12 min: see `plumbline logs --plugin e2e`
    ");
    assert_eq!(lines(&mut log, &look), [""; 0]);
}

#[test]
fn a_stalled_plugin_on_this_machine_names_its_log() {
    let status = json!({"run": "51c0de00", "plugins": [{"plugin": "e2e", "node": "global", "status": "running"}],
        "launched": {"e2e": "2026-11-20T12:48:00Z"}});
    let status: RunStatus = serde_json::from_value(status).unwrap();
    let logs = Logs::Local("/tmp/run".as_ref());
    let run = RunView { status: &status, waiting: &[], started: None, logs };
    let lines = EventLog::default().lines(run, now());
    assert_eq!(
        lines[0].render(false),
        "e2e: no progress for 12 min: see /tmp/run/tree/podlogs/local/e2e/logs/global.txt"
    );
}

#[test]
fn five_thousand_nodes_are_few_lines() {
    let mut log = EventLog::default();
    let mut count = 0;
    for done in 0..=5000 {
        let look = seen(json!([
            {"plugin": "logs", "node": "x nodes", "status": "complete", "folded": done},
            {"plugin": "logs", "node": "y nodes", "status": "running", "folded": 5000 - done},
        ]));
        count += lines(&mut log, &look).len();
    }
    assert_eq!(count, 20);
    let mut look = seen(json!([{"plugin": "logs", "node": "y nodes", "status": "running", "folded": 5000}]));
    look.waiting = (0..300).map(|n| pulling(&format!("n{n}"))).collect();
    assert_eq!(lines(&mut log, &look).len(), MAX_WAITING + 1);
}

#[test]
fn seven_thousand_tests_are_few_lines_and_each_failure_is_one() {
    let mut log = EventLog::default();
    let mut all = Vec::new();
    let failures: Vec<String> = (0..500).map(|n| format!("test {n}")).collect();
    for second in 0..7_000_i64 {
        let failed = usize::try_from(second / 3_500).unwrap() * 2;
        let look = seen(json!([{"plugin": "e2e", "node": "global", "status": "running", "progress":
            {"total": 7_000, "completed": second, "failures": failures[..failed]}}]));
        all.extend(lines_at(&mut log, &look, now() + SignedDuration::from_millis(second * 10)));
    }
    assert_eq!(all.iter().filter(|line| line.contains("FAIL test")).count(), 2, "{all:#?}");
    assert!((20..30).contains(&all.len()), "{}", all.len());
    // A look that joins a run late, or sees many tests fail at once.
    let look = seen(json!([{"plugin": "e2e", "node": "global", "status": "running", "progress":
        {"total": 7_000, "completed": 0, "failures": failures}}]));
    let late = lines(&mut EventLog::default(), &look);
    assert_eq!((late.len(), late.last().map(String::as_str)), (12, Some("e2e: 490 more tests failed")));
}

#[test]
fn foreign_text_neither_steers_the_terminal_nor_floods_it() {
    let evil = format!("\u{1b}[2J\u{9b}31m\u{202e}{}", "x".repeat(100_000));
    let mut look = seen(json!([{"plugin": &evil, "node": &evil, "status": &evil, "result-status": &evil,
        "result-counts": {(evil.as_str()): 1, "passed": 2}, "last-heartbeat": "2026-11-20T12:59:00Z",
        "progress": {"msg": &evil, "total": 2, "completed": 1, "failures": [&evil], "reasons": {(evil.as_str()): &evil}}}]));
    look.status.skipped = [(evil.clone(), evil.clone())].into();
    look.status.launched = [(evil.clone(), "2026-11-20T12:00:00Z".parse().unwrap())].into();
    look.waiting = vec![plumbline_kubernetes::status::Waiting {
        plugin: Some(evil.clone()),
        message: evil.clone(),
        ..pulling(&evil)
    }];
    let mut log = EventLog::default();
    lines(&mut log, &seen(json!([])));
    look.status.status = evil.clone().into();
    let lines = log.lines(RunView::of_cluster(&look), now());
    assert!(lines.len() >= 6, "{lines:?}");
    for line in lines {
        assert!(line.width() <= MAX_COLUMNS, "{}", line.width());
        assert!(!line.render(false).contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{line:?}");
    }
}
