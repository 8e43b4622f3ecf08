//! Tests for events as lines of the journal, and for replaying a journal.

use serde_json::json;

use super::words::{at, broken, key, planned, plugin, started, stored, timed_out, without_space};
use crate::Status;
use crate::ledger::{ErrorRecord, Event, Ledger, Record, Refusal};
use crate::progress::ProgressUpdate;
use crate::run_status::TarInfo;

#[test]
fn every_event_has_its_line_in_the_journal() {
    let events = [
        planned("b", &["b/n1", "b/n2"]),
        Event::Launched { plugin: plugin("b") },
        Event::LaunchFailed { plugin: plugin("b"), reason: "no".to_owned() },
        Event::Hello { key: key("b/n1") },
        Event::Heartbeat { key: key("b/n1") },
        Event::Progress { key: key("b/n1"), update: ProgressUpdate { total: 3, ..ProgressUpdate::default() } },
        started("b/n1", 7),
        stored("b/n1", 7),
        broken("b/n1", 7),
        without_space("b/n1", 7),
        Event::RetryDelayed { key: key("b/n1"), reason: "the disk is full".to_owned() },
        Event::Failed { key: key("b/n1"), error: ErrorRecord::new("gone").with("pod", json!({"name": "p"})) },
        timed_out("b"),
        Event::PostProcessed { key: key("b/n1"), status: "warn: 1".into(), counts: [("warn".to_owned(), 1)].into() },
        Event::PluginPostProcessed { plugin: plugin("b"), status: Status::Passed, counts: [].into() },
        Event::PluginJudged {
            plugin: plugin("b"),
            summary: crate::judgement::VerdictSummary { failures: 4, excused: 4, ..Default::default() },
        },
        Event::Archived {
            tar: TarInfo { name: "x.tar.gz".to_owned(), created: at(1), sha256: "0".repeat(64), size: 7 },
        },
        Event::Interrupted,
        Event::Restarted,
        Event::Skipped { plugin: plugin("b"), reason: "nothing failed".to_owned() },
        Event::NothingExpected { plugin: plugin("b"), reason: "none of 3 nodes fits".to_owned() },
    ];
    let lines: Vec<String> = events
        .iter()
        .map(|event| {
            let record = Record { at: at(0), event: event.clone() };
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
            line
        })
        .collect();
    // Runs started by older versions are resumed, so lines may only gain keys.
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn lines_of_later_versions_may_have_more_keys_but_no_other_events() {
    let line = r#"{"at":"2026-07-01T10:00:00Z","event":"heartbeat","key":"a/global","mood":"good"}"#;
    let record: Record = serde_json::from_str(line).unwrap();
    assert_eq!(record.event, Event::Heartbeat { key: key("a/global") });
    for line in [
        r#"{"at":"2026-07-01T10:00:00Z","event":"levitated"}"#,
        r#"{"at":"2026-07-01T10:00:00Z","event":"heartbeat","key":"../etc"}"#,
        r#"{"at":"yesterday","event":"interrupted"}"#,
        r#"{"event":"interrupted"}"#,
    ] {
        assert!(serde_json::from_str::<Record>(line).is_err(), "{line}");
    }
}

#[test]
fn a_journal_that_does_not_follow_is_refused_where_it_goes_wrong() {
    let events = [(at(0), planned("a", &["a/global"])), (at(1), stored("a/global", 1))];
    let error = Ledger::replay(events).unwrap_err();
    assert_eq!(error.index, 1);
    assert_eq!(error.refusal, Refusal::StaleUpload { key: key("a/global"), upload: 1 });
    assert_eq!(error.to_string(), "event 1 of the journal does not follow from those before it");
}

#[test]
fn an_earlier_name_of_an_event_is_read() {
    let event: Event = serde_json::from_str(r#"{"event":"withdrawn","plugin":"b","reason":"nothing failed"}"#).unwrap();
    assert_eq!(event, Event::Skipped { plugin: plugin("b"), reason: "nothing failed".to_owned() });
}
