use super::*;
use serde_json::{Value, json};

fn seen(namespace: &str, status: Value) -> Seen {
    Seen {
        namespace: namespace.to_owned(),
        pod: "sonobuoy".to_owned(),
        status: serde_json::from_value(status).unwrap(),
        began: None,
        restarts: 0,
        waiting: Vec::new(),
    }
}

#[test]
fn each_state_says_what_can_be_done_next() {
    let entry =
        |status: &str, result: &str| json!({"plugin": "p", "node": "n", "status": status, "result-status": result});
    let tar = json!({"name": "202611201300_plumbline_7f3a9c.tar.gz", "size": 24576});
    let all = [
        seen("sonobuoy", json!({"plugins": null, "status": "running"})),
        seen(
            "checks",
            json!({"status": "running", "plugins": [entry("running", ""), entry("failed", ""), {"folded": 7, "status": "complete"}]}),
        ),
        seen("sonobuoy", json!({"status": "post-processing", "plugins": [entry("complete", "")]})),
        seen("sonobuoy", json!({"status": "complete", "plugins": [entry("complete", "passed")], "tar-info": tar})),
        seen("sonobuoy", json!({"status": "complete", "plugins": [entry("complete", "failed")]})),
        seen(
            "sonobuoy",
            json!({"status": "complete", "plugins": [{"plugin": "p", "node": "n", "status": "complete",
                "result-status": "failed", "result-counts": {"failed": 1, "passed": 2}}]}),
        ),
        seen("sonobuoy", json!({"status": "complete", "plugins": [entry("timed_out", "timeout")]})),
        seen(
            "sonobuoy",
            json!({"status": "complete", "plugins": [entry("failed", "failed"), entry("timed_out", "timeout")]}),
        ),
        seen("sonobuoy", json!({"status": "complete", "plugins": [entry("complete", "unknown")]})),
        seen("sonobuoy", json!({"status": "complete", "interrupted": true})),
        seen("sonobuoy", json!({"status": "failed"})),
        seen("sonobuoy", json!({"status": "paused"})),
    ];
    insta::assert_snapshot!(all.iter().map(|seen| sentence(seen, "plumbline")).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_reason_of_a_failed_run_is_shown_with_its_hint() {
    let failure = json!({"reason": "failed to download the bundle of plugin `a`:\u{1b}[2J refused", "hint": "look"});
    let mut seen = seen("checks", json!({"status": "failed", "failure": failure}));
    assert_eq!(
        sentence(&seen, "plumbline"),
        "The run has failed and left no archive. See more with `plumbline logs -n checks`, then remove it with `plumbline delete -n checks`."
    );
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    assert_eq!(
        notes(&seen, now),
        ["cause: failed to download the bundle of plugin `a`:\u{fffd}[2J refused", "hint:  look"]
    );
    seen.status.failure = None;
    assert!(notes(&seen, now).is_empty() && sentence(&seen, "plumbline").contains("See why with"));
}

#[test]
fn verdicts_of_plugins_are_shown_with_their_reasons() {
    let verdict = json!({
        "status": "passed", "failures": 4, "excused": 4, "checks": 7,
        "classes": {"known-failure": {"items": 3, "failures": 3}, "flaky": {"items": 1, "failures": 1}},
        "reasons": {"known-failure": "the cloud has no UDP"},
    });
    let entry = json!({"plugin": "e2e", "node": "global", "status": "complete", "result-status": "failed"});
    let status = json!({"status": "complete", "plugins": [entry], "verdicts": {"e2e": verdict}});
    let mut seen = seen("checks", status);
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    assert!(sentence(&seen, "plumbline").starts_with("The run is complete: it passed, with 4 failures excused."));
    insta::assert_snapshot!(notes(&seen, now).join("\n"), @"
    e2e: passed
      class           tests   counts
      known-failure       3   no      the cloud has no UDP
      flaky               1   no
      checks              7 of 7 met
    ");
    // While other plugins run, a verdict is one line.
    seen.status.status = RunPhase::Running;
    let lines = notes(&seen, now);
    let line = "e2e: passed: 4 failures, all excused: 3 known-failure, 1 flaky; 7 of 7 checks";
    assert!(lines.iter().any(|shown| shown == line), "{lines:?}");
}

#[test]
fn results_that_no_entry_shows_are_explained() {
    let entry = |node: &str, counts: Value| json!({"plugin": "facts", "node": node, "status": "complete", "result-status": "passed", "result-counts": counts});
    let seen = seen(
        "checks",
        json!({"status": "complete", "heartbeat": "2026-11-20T13:00:00Z", "totals": {
        "facts": {"status": "failed", "counts": {"failed": 1, "passed": 6}},
        "nowhere": {"status": "unknown", "counts": {}, "reason": "none of 3 nodes fits (module `daemonset`)"},
    }, "plugins": [entry("n1", json!({"passed": 3})), entry("n2", json!({"passed": 3}))]}),
    );
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    assert!(sentence(&seen, "plumbline").starts_with("The run is complete: 1 of 7 tests failed."));
    insta::assert_snapshot!(notes(&seen, now).join("\n"), @"
    facts: failed as a whole (1 failed)
    nowhere: none of 3 nodes fits (module `daemonset`), so no result is expected
    ");
}

#[test]
fn the_verdict_of_judges_replaces_the_result_as_a_whole() {
    let verdict = json!({"status": "passed", "failures": 1, "excused": 1});
    let notes_of = |judged: &str| {
        let total = json!({"status": "failed", "counts": {"failed": 1, "passed": 6}});
        let nowhere = json!({"status": "unknown", "counts": {}, "reason": "no node fits"});
        let status = json!({"status": "complete", "totals": {"facts": total, "nowhere": nowhere}, "verdicts": {judged: verdict}});
        unseen_results(&seen("checks", status).status)
    };
    let nowhere = "nowhere: no node fits, so no result is expected";
    assert_eq!(notes_of("facts"), [nowhere]);
    assert_eq!(notes_of(ALL_JUDGED), [nowhere]);
    assert_eq!(notes_of("other"), ["facts: failed as a whole (1 failed)", nowhere]);
}

#[test]
fn the_delivery_of_the_archive_is_shown() {
    let notes_of = |delivery: &str| {
        let now = "2026-11-20T13:00:00Z";
        let status = json!({"status": "complete", "heartbeat": now, "delivery": delivery, "plugins": []});
        notes(&seen("checks", status), now.parse().unwrap()).join("\n")
    };
    assert_eq!(notes_of("https://h/x.tar.gz"), "The archive was sent to https://h/x.tar.gz.");
    assert_eq!(
        notes_of("failed: failed to send the archive"),
        "The archive was not uploaded: failed to send the archive"
    );
}

#[test]
fn a_result_that_is_missing_or_in_trouble_says_why() {
    let entry = |node: &str, status: &str, reason: Value, heard: &str| json!({"plugin": "bench", "node": node, "status": status, "reason": reason, "last-heartbeat": format!("2026-11-20T12:{heard}Z")});
    let status = json!({"status": "running", "heartbeat": "2026-11-20T13:00:00Z", "plugins": [
        entry("n1", "running", Value::Null, "59:20"),
        entry("n2", "running", Value::Null, "57:00"),
        entry("n3", "running", json!("the worker of pod `p3` is \u{1b}[2Jsilent"), "57:00"),
        entry("n4", "running", json!("container `main` of pod `p4` ended with exit code 3"), "59:50"),
        entry("n5", "failed", json!("node `n5` was removed"), "10:00"),
        entry("n6", "complete", Value::Null, "10:00"),
    ]});
    let mut seen = seen("checks", status);
    seen.waiting = vec![Waiting {
        pod: "p4".to_owned(),
        plugin: Some("bench".to_owned()),
        node: Some("n4".to_owned()),
        reason: "CrashLoopBackOff".to_owned(),
        message: String::new(),
        image: None,
        since: None,
    }];
    // The clock of this machine does not matter.
    insta::assert_snapshot!(notes(&seen, "2026-11-20T23:00:00Z".parse().unwrap())[1..].join("\n"), @"
    bench on n2: last heartbeat 3 min ago
    bench on n3: the worker of pod `p3` is \u{fffd}[2Jsilent (last heartbeat 3 min ago)
    bench on n4: container `main` of pod `p4` ended with exit code 3
    bench on n5: node `n5` was removed
    ");
}

#[test]
fn notes_report_restarts_and_stalled_plugins() {
    let mut seen = seen(
        "checks",
        json!({"status": "running", "heartbeat": "2026-11-20T12:57:00Z", "compacted": "healthy", "plugins": [
            {"plugin": "e2e", "node": "global", "status": "running",
             "progress": {"timestamp": "2026-11-20T12:40:00Z", "total": 7, "completed": 1}},
        ]}),
    );
    seen.restarts = 2;
    seen.waiting = (0..12)
        .map(|n| Waiting {
            pod: format!("p{n}"),
            plugin: Some("bench".to_owned()),
            node: Some(format!("worker-{n}")),
            reason: "ImagePullBackOff".to_owned(),
            message: String::new(),
            image: Some("r/i:1".to_owned()),
            since: Some("2026-11-20T12:59:20Z".parse().unwrap()),
        })
        .collect();
    insta::assert_snapshot!(notes(&seen, "2026-11-20T13:00:00Z".parse().unwrap()).join("\n"));
}

#[test]
fn results_that_timed_out_are_counted_separately() {
    let message = |entries: &[(&str, u64)]| {
        let entries = entries.iter().map(|(status, count)| json!({"status": status, "folded": count}));
        missing(&serde_json::from_value(json!({"plugins": entries.collect::<Vec<_>>()})).unwrap())
    };
    assert_eq!(message(&[("complete", 3)]), None);
    assert_eq!(message(&[("complete", 3), ("failed", 1)]).unwrap(), "1 of 4 results did not arrive");
    assert_eq!(message(&[("complete", 3), ("timed_out", 2)]).unwrap(), "2 of 5 results timed out");
    assert_eq!(
        message(&[("failed", 1), ("timed_out", 2), ("running", 1)]).unwrap(),
        "4 of 4 results did not arrive, 2 of them timed out"
    );
}

fn minutes(launched: Value, entry: Value) -> Option<i64> {
    let status: RunStatus = serde_json::from_value(json!({"plugins": [entry], "launched": launched})).unwrap();
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    stalled(&status, &status.plugins.as_ref().unwrap()[0], now).map(|still| still.as_mins())
}

#[test]
fn the_last_update_counts_or_else_the_launch() {
    let entry = |node: &str, status: &str, updated: Option<&str>| {
        let progress = updated.map(|at| json!({"timestamp": format!("2026-11-20T12:{at}:00Z"), "total": 7}));
        json!({"plugin": "e2e", "node": node, "status": status, "progress": progress})
    };
    let launched = |at: &str| json!({"e2e": format!("2026-11-20T12:{at}:00Z"), "other": "2026-11-20T01:00:00Z"});
    let cases = [
        (launched("00"), entry("global", "running", Some("50")), Some(10)),
        (launched("00"), entry("global", "running", Some("51")), None),
        (launched("00"), entry("global", "running", None), Some(60)),
        (launched("55"), entry("global", "running", None), None),
        (launched("55"), entry("global", "running", Some("10")), None),
        (json!({}), entry("global", "running", None), None),
        (json!({}), entry("global", "running", Some("10")), Some(50)),
        (launched("00"), entry("n1", "running", None), None),
        (launched("00"), entry("n1", "running", Some("10")), Some(50)),
        (launched("00"), entry("global", "complete", Some("10")), None),
        (launched("00"), entry("global", "failed", None), None),
    ];
    for (launched, entry, expected) in cases {
        assert_eq!(minutes(launched.clone(), entry.clone()), expected, "{launched} {entry}");
    }
}

#[test]
fn the_command_finds_the_plugin_where_it_is() {
    assert_eq!(logs_command("e2e", names::DEFAULT_NAMESPACE), "plumbline logs --plugin e2e");
    assert_eq!(logs_command("systemd_logs", "checks"), "plumbline logs -n checks");
}
