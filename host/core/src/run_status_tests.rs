use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::judgement::VerdictStatus;

/// The status as Sonobuoy's aggregators write it today, key by key.
const TODAY: &str = r#"{"plugins":[{"plugin":"e2e","node":"global","status":"complete","result-status":"failed","result-counts":{"failed":1,"passed":1,"skipped":4896},"progress":{"name":"e2e","node":"global","timestamp":"2026-07-01T10:00:00.123456789Z","msg":"Test Suite completed","total":2,"completed":1,"failures":["[sig-x] some test"]}},{"plugin":"systemd-logs","node":"kind-worker","status":"running","result-status":"","result-counts":null}],"status":"running","tar-info":{"name":"","created":"0001-01-01T00:00:00Z","sha256":"","size":0}}"#;

#[test]
fn a_status_of_sonobuoy_is_read_and_written_unchanged() {
    let status: RunStatus = serde_json::from_str(TODAY).unwrap();
    assert_eq!(serde_json::to_string(&status).unwrap(), TODAY);
    let plugins = status.plugins.unwrap();
    assert_eq!(plugins[0].result_counts.as_ref().unwrap()["skipped"], 4896);
    assert_eq!(plugins[0].result_status, Some(Status::Failed));
    assert_eq!(plugins[0].progress.as_ref().unwrap().remaining(), Some(0));
    assert_eq!((plugins[1].status.clone(), plugins[1].result_status.clone()), (EntryStatus::Running, None));
}

#[test]
fn before_there_is_a_plan_plugins_are_null() {
    let text = r#"{"plugins":null,"status":"running","tar-info":{"name":"","created":"0001-01-01T00:00:00Z","sha256":"","size":0}}"#;
    assert_eq!(serde_json::to_string(&RunStatus::default()).unwrap(), text);
    assert_eq!(serde_json::from_str::<RunStatus>(text).unwrap(), RunStatus::default());
}

#[test]
fn missing_keys_nulls_and_unknown_keys_do_no_harm() {
    assert_eq!(serde_json::from_str::<RunStatus>("{}").unwrap(), RunStatus::default());
    let status: RunStatus = serde_json::from_value(json!({
        "plugins": [{"plugin": "a", "node": null, "status": null, "result-status": null, "x": 1}, {}],
        "tar-info": {"created": null}, "version": 7,
    }))
    .unwrap();
    let plugins = status.plugins.unwrap();
    assert_eq!(plugins[0], PluginStatus { plugin: "a".to_owned(), ..PluginStatus::default() });
    assert_eq!(plugins[1], PluginStatus::default());
    assert_eq!(status.tar_info, TarInfo::default());
}

#[test]
fn a_plugin_may_be_called_name() {
    for (entry, plugin) in [
        (json!({"name": "old"}), "old"),
        (json!({"plugin": "new"}), "new"),
        (json!({"name": "old", "plugin": "new"}), "new"),
    ] {
        let read: PluginStatus = serde_json::from_value(entry).unwrap();
        assert_eq!(read.plugin, plugin);
        assert_eq!(serde_json::to_value(&read).unwrap()["plugin"], plugin);
    }
}

#[test]
fn words_of_later_versions_are_kept() {
    let status: RunStatus =
        serde_json::from_value(json!({"status": "paused", "plugins": [{"status": "lost"}]})).unwrap();
    assert_eq!(status.status, RunPhase::Other("paused".to_owned()));
    let written = serde_json::to_value(&status).unwrap();
    assert_eq!((&written["status"], &written["plugins"][0]["status"]), (&json!("paused"), &json!("lost")));
    assert_eq!(RunPhase::PostProcessing.to_string(), "post-processing");
}

#[test]
fn keys_with_another_meaning_are_ignored() {
    let status: RunStatus = serde_json::from_value(json!({
        "plugins": [{"plugin": "a", "folded": "many"}, {"plugin": "b", "folded": 12}],
        "heartbeat": 7, "compacted": true, "run": null, "status": "running", "failure": "text",
    }))
    .unwrap();
    let plugins = status.plugins.unwrap();
    assert_eq!((plugins[0].count(), plugins[1].count()), (1, 12));
    assert_eq!((status.heartbeat, status.compacted, status.run, status.failure), (None, None, None, None));
}

#[test]
fn outcomes_that_cannot_be_read_are_unknown() {
    let status: RunStatus = serde_json::from_value(json!({
        "totals": {"a": {"status": "failed", "counts": {"failed": 1}}, "b": "text", "c": {"status": 7}},
        "verdicts": {"a": {"status": "passed"}, "b": {"status": "passed", "failures": "none"}},
    }))
    .unwrap();
    let totals: Vec<Status> = status.totals.into_values().map(|total| total.status).collect();
    assert_eq!(totals, [Status::Failed, Status::Unknown, Status::Unknown]);
    let verdicts: Vec<VerdictStatus> = status.verdicts.unwrap().into_values().map(|verdict| verdict.status).collect();
    assert_eq!(verdicts, [VerdictStatus::Passed, VerdictStatus::Unknown]);
    // Another tool may use the keys with another meaning.
    let other: RunStatus = serde_json::from_value(json!({"totals": 7, "verdicts": ["a"]})).unwrap();
    assert_eq!((other.totals.len(), other.verdicts), (0, None));
}

#[test]
fn our_own_keys_are_left_out_while_they_say_nothing() {
    let keys = |status: &RunStatus| match serde_json::to_value(status).unwrap() {
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>(),
        _ => panic!("an object"),
    };
    let status = RunStatus { plugins: Some(vec![PluginStatus::default()]), ..RunStatus::default() };
    assert!(!keys(&status).contains(&"interrupted".to_owned()));
    assert!(serde_json::to_value(&status).unwrap()["plugins"][0].get("last-heartbeat").is_none());
    assert!(keys(&RunStatus { interrupted: true, ..status }).contains(&"interrupted".to_owned()));
}

fn entry() -> impl Strategy<Value = PluginStatus> {
    let status = prop::sample::select(&["running", "complete", "failed", "odd"][..]);
    let result = prop::option::of(prop::sample::select(&["passed", "failed", "a: 1"][..]));
    let counts = prop::option::of(prop::collection::btree_map("[a-z]{1,4}", any::<u64>(), 0..3));
    let heard = prop::option::of((0i64..2_000_000_000).prop_map(|s| Timestamp::from_second(s).unwrap()));
    ("[a-z]{0,4}", "[a-z]{0,4}", status, result, counts, heard).prop_map(
        |(plugin, node, status, result, result_counts, last_heartbeat)| PluginStatus {
            plugin,
            node,
            status: status.to_owned().into(),
            result_status: result.map(Status::from),
            result_counts,
            progress: None,
            last_heartbeat,
            reason: None,
            folded: None,
        },
    )
}

proptest! {
    #[test]
    fn written_data_reads_back_equal(
        plugins in prop::option::of(prop::collection::vec(entry(), 0..4)),
        phase in "[a-z-]{1,12}",
        interrupted: bool,
        size: u64,
    ) {
        let tar_info = TarInfo { name: "x".to_owned(), size, ..TarInfo::default() };
        let status = RunStatus { plugins, status: phase.into(), tar_info, interrupted, ..RunStatus::default() };
        let text = serde_json::to_string(&status).unwrap();
        prop_assert_eq!(serde_json::from_str::<RunStatus>(&text).unwrap(), status);
    }
}

#[test]
fn it_is_one_line_each() {
    let failure = RunFailure::new("it failed\n  because\u{1b} so\n", Some("do this\n\nand that"));
    assert_eq!(failure.reason, "it failed; because\u{fffd} so");
    assert_eq!(failure.hint.as_deref(), Some("do this; and that"));
    assert_eq!(RunFailure::new("x", Some("\n")).hint, None);
    assert_eq!(serde_json::to_value(RunFailure::new("x", None)).unwrap(), json!({"reason": "x"}));
}

#[test]
fn strings_of_other_writers_are_truncated() {
    let read: RunFailure = serde_json::from_value(json!({"reason": "é".repeat(1 << 20), "hint": null})).unwrap();
    assert!(read.reason.len() <= MAX_REASON_BYTES && read.reason.ends_with(CUT), "{}", read.reason.len());
}

proptest! {
    #[test]
    fn it_fits_and_cutting_again_changes_nothing(text in "(\\PC|\n|\"|\\\\){0,80}", limit in 3usize..100) {
        let once = line(&text, limit);
        prop_assert!(once.len() <= limit);
        prop_assert_eq!(line(&once, limit), once);
    }
}

#[test]
fn never_is_written_as_clients_expect_it() {
    assert_eq!(NEVER.to_string(), "0001-01-01T00:00:00Z");
    assert_eq!("0001-01-01T00:00:00Z".parse::<Timestamp>().unwrap(), NEVER);
}
