//! The ledger, event by event.

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::name::{PluginName, ResultKey};
use crate::progress::ProgressUpdate;
use crate::run_status::{EntryStatus, RunPhase, TarInfo};
use crate::{Status, Verdict};

/// `seconds` after the beginning of all tests.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// The length of the window, in seconds.
const WINDOW: i64 = RETRY_WINDOW.as_secs() as i64;

fn key(text: &str) -> ResultKey {
    text.parse().unwrap()
}

fn plugin(name: &str) -> PluginName {
    name.parse().unwrap()
}

fn planned(name: &str, keys: &[&str]) -> Event {
    Event::Planned { plugin: plugin(name), keys: keys.iter().map(|text| key(text)).collect() }
}

fn started(text: &str, upload: u64) -> Event {
    Event::UploadStarted { key: key(text), upload }
}

fn content() -> Stored {
    Stored { kind: StoredKind::Archive, files: 2, bytes: 10, sha256: "0".repeat(64) }
}

fn stored(text: &str, upload: u64) -> Event {
    Event::UploadStored { key: key(text), upload, stored: content() }
}

fn broken(text: &str, upload: u64) -> Event {
    Event::UploadFailed { key: key(text), upload, reason: "connection reset".to_owned() }
}

fn failed(text: &str, error: &str) -> Event {
    Event::Failed { key: key(text), error: ErrorRecord::new(error) }
}

fn timed_out(name: &str) -> Event {
    Event::TimedOut { plugin: plugin(name) }
}

/// A ledger that expects one result of `a`, and two of `b`.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &["a/global"]));
    ledger.ok(0, planned("b", &["b/n1", "b/n2"]));
    ledger
}

/// Shorter words for tests.
trait Short {
    fn ok(&mut self, seconds: i64, event: Event) -> Vec<Effect>;
    fn refused(&mut self, seconds: i64, event: Event) -> Refusal;
    fn error_of(&self, text: &str) -> String;
}

impl Short for Ledger {
    fn ok(&mut self, seconds: i64, event: Event) -> Vec<Effect> {
        let mut effects = self.apply(at(seconds), event).unwrap_or_else(|refusal| panic!("{refusal}"));
        // What everything says is not worth comparing.
        effects.retain(|effect| *effect != Effect::StatusChanged);
        effects
    }

    fn refused(&mut self, seconds: i64, event: Event) -> Refusal {
        let before = self.clone();
        let refusal = self.apply(at(seconds), event).unwrap_err();
        assert_eq!(*self, before, "a refused event changes nothing");
        refusal
    }

    fn error_of(&self, text: &str) -> String {
        self.error(&key(text)).unwrap_or_else(|| panic!("`{text}` has no error")).error.clone()
    }
}

fn received(text: &str) -> Effect {
    Effect::ResultReceived { key: key(text) }
}

fn complete(name: &str) -> Effect {
    Effect::PluginComplete { plugin: plugin(name) }
}

#[test]
fn a_result_is_received_and_the_run_is_complete_with_the_last() {
    let mut ledger = ledger();
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Waiting));
    assert_eq!(ledger.admit(&key("a/global")), Ok(()));
    assert_eq!(ledger.ok(1, started("a/global", 1)), []);
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Uploading { upload: 1, since: at(1) }));
    assert_eq!(ledger.uploads().collect::<Vec<_>>(), [(&key("a/global"), 1)]);
    assert_eq!(ledger.ok(2, stored("a/global", 1)), [received("a/global"), complete("a")]);
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Received { at: at(2), stored: content() }));
    assert!(ledger.is_plugin_complete(&plugin("a"), at(2)) && !ledger.is_complete(at(2)));

    ledger.ok(3, started("b/n2", 2));
    ledger.ok(3, started("b/n1", 3));
    assert_eq!(ledger.ok(4, stored("b/n2", 2)), [received("b/n2")]);
    assert_eq!(ledger.missing(&plugin("b")), [&key("b/n1")]);
    assert_eq!(ledger.ok(5, stored("b/n1", 3)), [received("b/n1"), complete("b"), Effect::RunComplete]);
    assert!(ledger.is_complete(at(5)));
    assert_eq!((ledger.uploads().count(), ledger.next_deadline(at(5))), (0, None));
}

#[test]
fn what_nobody_expects_is_refused() {
    let mut ledger = ledger();
    for text in ["a/n1", "b/global", "b/n3", "c/global"] {
        assert_eq!(ledger.admit(&key(text)), Err(Refusal::Unexpected(key(text))));
        assert_eq!(ledger.refused(1, started(text, 1)), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.refused(1, stored(text, 1)), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.refused(1, failed(text, "e")), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.refused(1, Event::Heartbeat { key: key(text) }), Refusal::Unexpected(key(text)));
        let progress = Event::Progress { key: key(text), update: ProgressUpdate::default() };
        assert_eq!(ledger.refused(1, progress), Refusal::Unexpected(key(text)));
        assert_eq!(ledger.state(&key(text)), None);
    }
    assert_eq!(ledger.refused(1, timed_out("c")), Refusal::UnknownPlugin(plugin("c")));
    assert_eq!(ledger.refused(1, Event::Launched { plugin: plugin("c") }), Refusal::UnknownPlugin(plugin("c")));
    assert!(!ledger.is_plugin_complete(&plugin("c"), at(1)));
}

#[test]
fn a_plan_is_made_once_and_names_its_own_keys_once() {
    let mut ledger = ledger();
    assert_eq!(ledger.refused(1, planned("a", &[])), Refusal::AlreadyPlanned(plugin("a")));
    for keys in [&["a/n7"][..], &["c/n1", "c/n1"], &["c/n1", "b/n1"]] {
        assert!(matches!(ledger.refused(1, planned("c", keys)), Refusal::BadPlan { .. }), "{keys:?}");
    }
    let many = (0..=MAX_EXPECTED).map(|i| key(&format!("c/n{i}"))).collect();
    let refusal = ledger.refused(1, Event::Planned { plugin: plugin("c"), keys: many });
    assert_eq!(refusal, Refusal::TooMany(MAX_EXPECTED + 4));
    assert_eq!(ledger.plugins().collect::<Vec<_>>(), [&plugin("a"), &plugin("b")]);
    assert_eq!(ledger.keys().collect::<Vec<_>>(), [&key("a/global"), &key("b/n1"), &key("b/n2")]);
    assert_eq!(ledger.keys_of(&plugin("b")).count(), 2);
}

#[test]
fn a_plugin_that_expects_nothing_is_complete_at_once() {
    let mut ledger = Ledger::default();
    assert!(ledger.is_complete(at(0)));
    assert_eq!(ledger.tick(at(0)), []);
    assert_eq!(ledger.ok(0, planned("a", &[])), [complete("a")]);
    // The next plugin may still be planned: the run is complete with the first thing that is no planning.
    assert_eq!(ledger.ok(0, planned("b", &[])), [complete("b")]);
    assert_eq!(ledger.ok(1, Event::Launched { plugin: plugin("a") }), [Effect::RunComplete]);
    assert_eq!(ledger.refused(2, planned("c", &["c/global"])), Refusal::RunOver(plugin("c")));
    assert_eq!(ledger.verdict(at(2)), Verdict::Incomplete);
    ledger.ok(3, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(3)), Verdict::NothingToJudge);
}

#[test]
fn a_run_that_expects_nothing_is_complete_with_a_tick() {
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &[]));
    assert!(ledger.tick(at(0)).contains(&Effect::RunComplete));
    assert_eq!(ledger.tick(at(1)), []);
}

#[test]
fn a_second_result_is_a_duplicate() {
    let mut ledger = ledger();
    ledger.ok(1, started("b/n1", 1));
    assert_eq!(ledger.refused(1, started("b/n1", 2)), Refusal::Busy(key("b/n1")));
    assert_eq!(ledger.admit(&key("b/n1")), Err(Refusal::Busy(key("b/n1"))));
    ledger.ok(2, stored("b/n1", 1));
    let duplicate = Refusal::AlreadyReceived(key("b/n1"));
    assert_eq!(ledger.admit(&key("b/n1")), Err(duplicate.clone()));
    for event in [started("b/n1", 3), stored("b/n1", 1), broken("b/n1", 1), failed("b/n1", "too late")] {
        assert_eq!(ledger.refused(3, event), duplicate);
    }
}

#[test]
fn a_result_after_an_error_is_a_duplicate() {
    let mut ledger = ledger();
    let effects = ledger.ok(1, failed("b/n1", "image cannot be pulled"));
    let error = ErrorRecord::new("image cannot be pulled");
    assert_eq!(effects, [Effect::ResultFailed { key: key("b/n1"), error: error.clone() }]);
    assert_eq!(ledger.state(&key("b/n1")), Some(KeyState::Failed { at: at(1), error }));
    for event in [started("b/n1", 1), stored("b/n1", 1), failed("b/n1", "again")] {
        assert_eq!(ledger.refused(2, event), Refusal::AlreadyReceived(key("b/n1")));
    }
    assert_eq!(ledger.error_of("b/n1"), "image cannot be pulled");
}

#[test]
fn an_upload_that_is_not_the_one_under_way_counts_for_nothing() {
    let mut ledger = ledger();
    let stale = |upload| Refusal::StaleUpload { key: key("b/n1"), upload };
    assert_eq!(ledger.refused(1, stored("b/n1", 1)), stale(1));
    ledger.ok(1, started("b/n1", 1));
    assert_eq!(ledger.refused(2, stored("b/n1", 2)), stale(2));
    assert_eq!(ledger.refused(2, broken("b/n1", 2)), stale(2));
    ledger.ok(3, broken("b/n1", 1));
    assert_eq!(ledger.refused(4, stored("b/n1", 1)), stale(1));
}

#[test]
fn a_failed_upload_may_be_tried_again() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    assert_eq!(ledger.ok(2, broken("a/global", 1)), []);
    let reason = "connection reset".to_owned();
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Broken { at: at(2), reason }));
    assert_eq!(ledger.next_deadline(at(3)), Some(at(2 + WINDOW)));
    assert!(!ledger.is_plugin_complete(&plugin("a"), at(1 + WINDOW)));
    ledger.ok(1 + WINDOW, started("a/global", 2));
    // The window does not cut off an upload that began in it.
    assert_eq!((ledger.next_deadline(at(500)), ledger.tick(at(500))), (None, vec![]));
    assert_eq!(ledger.ok(501, stored("a/global", 2)), [received("a/global"), complete("a")]);
}

#[test]
fn a_failed_upload_that_is_not_tried_again_becomes_an_error() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, broken("a/global", 1));
    assert_eq!(ledger.tick(at(1 + WINDOW)), []);
    let effects = ledger.tick(at(2 + WINDOW));
    let error = ErrorRecord::new("upload failed and was not retried: connection reset");
    assert_eq!(effects, [Effect::ResultFailed { key: key("a/global"), error }, complete("a"), Effect::StatusChanged]);
    assert_eq!(ledger.refused(3 + WINDOW, started("a/global", 2)), Refusal::AlreadyReceived(key("a/global")));
}

#[test]
fn the_window_is_over_even_if_nobody_ticked() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, broken("a/global", 1));
    let over = 2 + WINDOW;
    assert!(ledger.is_plugin_complete(&plugin("a"), at(over)));
    assert_eq!(ledger.status(at(over)).plugins.unwrap()[0].status, EntryStatus::Failed);
    assert_eq!(ledger.refused(over, started("a/global", 2)), Refusal::AlreadyReceived(key("a/global")));
    assert_eq!(ledger.refused(over, failed("a/global", "e")), Refusal::AlreadyReceived(key("a/global")));
    // An event of the same plugin ends it too, as a tick would have.
    ledger.ok(over, timed_out("a"));
    assert_eq!(ledger.error_of("a/global"), "upload failed and was not retried: connection reset");
}

#[test]
fn a_retry_may_take_as_long_as_the_other_results_do() {
    let mut ledger = ledger();
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, broken("b/n1", 1));
    assert_eq!(ledger.next_deadline(at(3)), None);
    assert_eq!(ledger.tick(at(5_000)), []);
    ledger.ok(5_001, started("b/n1", 2));
    ledger.ok(5_002, broken("b/n1", 2));
    ledger.ok(5_003, failed("b/n2", "gone"));
    assert_eq!(ledger.next_deadline(at(5_004)), Some(at(5_002 + WINDOW)));
    // A deadline that is over is now.
    assert_eq!(ledger.next_deadline(at(9_000)), Some(at(9_000)));
}

#[test]
fn a_failure_waits_for_the_upload_under_way() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    assert_eq!(ledger.ok(2, failed("a/global", "the pod ended")), []);
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Uploading { upload: 1, since: at(1) }));
    assert_eq!(ledger.refused(3, failed("a/global", "again")), Refusal::AlreadyReceived(key("a/global")));
    assert_eq!(ledger.tick(at(9_000)), []);

    let mut wins = ledger.clone();
    assert_eq!(wins.ok(9_001, stored("a/global", 1)), [received("a/global"), complete("a")]);

    let effects = ledger.ok(9_001, broken("a/global", 1));
    let error = ErrorRecord::new("the pod ended").with("upload", "connection reset");
    assert_eq!(effects, [Effect::ResultFailed { key: key("a/global"), error }, complete("a")]);
}

#[test]
fn a_failure_after_a_failed_upload_tells_of_both() {
    let mut ledger = ledger();
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, broken("b/n1", 1));
    ledger.ok(3, failed("b/n1", "the node is gone"));
    let error = ledger.error(&key("b/n1")).unwrap();
    assert_eq!(error.to_error_json(), json!({"error": "the node is gone", "upload": "connection reset"}));
}

#[test]
fn the_timeout_of_one_plugin_is_not_that_of_another() {
    let mut ledger = ledger();
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, stored("b/n1", 1));
    let effects = ledger.ok(10, timed_out("b"));
    let error = ErrorRecord::new(TIMEOUT_ERROR);
    assert!(error.is_timeout());
    assert_eq!(effects, [Effect::ResultFailed { key: key("b/n2"), error }, complete("b")]);
    assert!(matches!(ledger.state(&key("b/n1")), Some(KeyState::Received { .. })));
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Waiting));
    // Over is over.
    assert_eq!(ledger.ok(11, timed_out("b")), []);
    assert_eq!(ledger.refused(12, started("b/n2", 2)), Refusal::AlreadyReceived(key("b/n2")));
}

#[test]
fn a_timeout_waits_for_the_upload_under_way_but_not_for_ever() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    assert_eq!(ledger.ok(10, timed_out("a")), []);
    assert_eq!(ledger.next_deadline(at(11)), Some(at(10 + WINDOW)));

    let mut in_time = ledger.clone();
    assert_eq!(in_time.ok(9 + WINDOW, stored("a/global", 1)), [received("a/global"), complete("a")]);

    let mut too_late = ledger.clone();
    assert_eq!(too_late.refused(10 + WINDOW, stored("a/global", 1)), Refusal::AlreadyReceived(key("a/global")));

    // A second timeout does not make the wait longer.
    ledger.ok(50, timed_out("a"));
    let effects = ledger.tick(at(10 + WINDOW));
    assert!(effects.contains(&complete("a")), "{effects:?}");
    assert_eq!(ledger.error_of("a/global"), TIMEOUT_ERROR);
    assert_eq!(ledger.refused(11 + WINDOW, stored("a/global", 1)), Refusal::AlreadyReceived(key("a/global")));
}

#[test]
fn a_launch_that_failed_is_an_error_of_every_missing_result() {
    let mut ledger = ledger();
    let effects = ledger.ok(1, Event::LaunchFailed { plugin: plugin("b"), reason: "no such command".to_owned() });
    let error = |text| Effect::ResultFailed { key: key(text), error: ErrorRecord::new("no such command") };
    assert_eq!(effects, [error("b/n1"), error("b/n2"), complete("b")]);
    assert_eq!(ledger.launched(&plugin("b")), None);
    ledger.ok(2, Event::Launched { plugin: plugin("a") });
    assert_eq!(ledger.launched(&plugin("a")), Some(at(2)));
}

#[test]
fn progress_and_signs_of_life_are_taken_at_all_times() {
    let mut ledger = ledger();
    let progress = |completed| Event::Progress {
        key: key("a/global"),
        update: ProgressUpdate { appendcompleted: completed, name: "liar".to_owned(), ..ProgressUpdate::default() },
    };
    ledger.ok(1, progress(3));
    ledger.ok(2, started("a/global", 1));
    ledger.ok(3, stored("a/global", 1));
    ledger.ok(4, progress(4));
    let state = ledger.progress(&key("a/global")).unwrap();
    assert_eq!((state.completed, state.name.as_str(), state.node.as_str(), state.timestamp), (7, "a", "global", at(4)));

    ledger.ok(5, Event::Hello { key: key("b/n1"), from: "10.0.0.7".to_owned() });
    assert_eq!(ledger.heard_from(&key("b/n1")), Some("10.0.0.7"));
    ledger.ok(6, failed("b/n1", "gone"));
    // Alive after all, but an error is an error.
    assert_eq!(ledger.apply(at(7), Event::Heartbeat { key: key("b/n1") }), Ok(vec![]));
    assert_eq!(ledger.last_heard(&key("b/n1")), Some(at(7)));
    assert!(ledger.error(&key("b/n1")).is_some());
    let long = Event::Hello { key: key("b/n2"), from: "x".repeat(1 << 20) };
    ledger.ok(8, long);
    assert_eq!(ledger.heard_from(&key("b/n2")).map(str::len), Some(300));
}

#[test]
fn progress_of_all_plugins_together_is_bounded() {
    let mut ledger = Ledger::default();
    let nodes: Vec<ResultKey> = (0..80).map(|i| key(&format!("a/n{i}"))).collect();
    ledger.ok(0, Event::Planned { plugin: plugin("a"), keys: nodes.clone() });
    let update = ProgressUpdate { failures: vec!["x".repeat(1 << 20)], ..ProgressUpdate::default() };
    for key in &nodes {
        ledger.ok(1, Event::Progress { key: key.clone(), update: update.clone() });
    }
    let bytes = |ledger: &Ledger| -> usize {
        nodes.iter().map(|key| ledger.progress(key).map_or(0, ProgressUpdate::name_bytes)).sum()
    };
    assert_eq!(bytes(&ledger), MAX_PROGRESS_BYTES);
    assert_eq!(ledger.progress(&nodes[79]).map(|state| (state.failures.len(), state.failed())), Some((0, 1)));
    // What one gives up, another may have.
    ledger.ok(2, Event::Progress { key: nodes[0].clone(), update: ProgressUpdate::default() });
    ledger.ok(3, Event::Progress { key: nodes[79].clone(), update });
    assert_eq!(bytes(&ledger), MAX_PROGRESS_BYTES);
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_misses_the_rest() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, stored("a/global", 1));
    ledger.ok(3, started("b/n1", 2));
    ledger.ok(4, broken("b/n1", 2));
    ledger.ok(5, started("b/n2", 3));
    let effects = ledger.ok(6, Event::Interrupted);
    assert!(effects.ends_with(&[complete("b"), Effect::RunComplete]), "{effects:?}");
    assert!(matches!(ledger.state(&key("a/global")), Some(KeyState::Received { .. })));
    assert_eq!(ledger.error_of("b/n1"), "upload failed and was not retried: connection reset");
    assert_eq!(ledger.error_of("b/n2"), "the run was interrupted before this result arrived");
    assert_eq!(ledger.refused(7, stored("b/n2", 3)), Refusal::AlreadyReceived(key("b/n2")));
    assert_eq!(ledger.refused(7, planned("c", &[])), Refusal::RunOver(plugin("c")));
    assert!(ledger.is_interrupted() && ledger.status(at(7)).interrupted);
    ledger.ok(8, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(8)), Verdict::Interrupted);
    // Twice is not worse than once.
    assert_eq!(ledger.ok(9, Event::Interrupted), []);
}

#[test]
fn a_run_that_has_its_archive_cannot_be_interrupted() {
    let mut ledger = ledger();
    for (text, upload) in [("a/global", 1), ("b/n1", 2), ("b/n2", 3)] {
        ledger.ok(1, started(text, upload));
        ledger.ok(2, stored(text, upload));
    }
    ledger.ok(3, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.ok(4, Event::Interrupted), []);
    assert!(!ledger.is_interrupted());
}

#[test]
fn uploads_end_with_the_process_that_received_them() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, started("b/n1", 2));
    ledger.ok(2, failed("b/n1", "the pod ended"));
    ledger.ok(3, started("b/n2", 3));
    ledger.ok(4, broken("b/n2", 3));
    ledger.ok(5, started("b/n2", 4));
    ledger.ok(1_000, Event::Restarted);
    // The sender did nothing wrong: the result is awaited as before.
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Waiting));
    // Nobody is left to try again.
    assert_eq!(ledger.error(&key("b/n1")).unwrap().details["upload"], json!("the aggregator was restarted"));
    // The retry that was cut off has its full window again.
    assert!(matches!(ledger.state(&key("b/n2")), Some(KeyState::Broken { at: since, .. }) if since == at(1_000)));
    assert_eq!(ledger.next_deadline(at(1_000)), Some(at(1_000 + WINDOW)));
    assert!(matches!(ledger.refused(1_001, stored("a/global", 1)), Refusal::StaleUpload { .. }));
    ledger.ok(1_002, started("a/global", 5));
    assert_eq!(ledger.ok(1_003, stored("a/global", 5)), [received("a/global"), complete("a")]);
}

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
    // The tree of a plugin with one result is that result's; that of one with several is not.
    assert_eq!(entries[0].result_status, Some(Status::Passed));
    assert_eq!((entries[1].result_status.clone(), entries[2].result_status.clone()), (None, Some(Status::Failed)));
    assert_eq!(ledger.plugin_result(&plugin("a")).unwrap().counts["passed"], 3);
    assert_eq!(ledger.result(&key("b/n2")).unwrap().status, Status::Failed);

    let tar = TarInfo { name: "x.tar.gz".to_owned(), created: at(8), sha256: "0".repeat(64), size: 7 };
    ledger.ok(8, Event::Archived { tar: tar.clone() });
    let status = ledger.status(at(8));
    assert_eq!((status.status, status.tar_info), (RunPhase::Complete, tar));
    // A result is missing, whatever else came out.
    assert_eq!(ledger.verdict(at(8)), Verdict::Incomplete);
}

#[test]
fn the_verdict_knows_the_trees_of_whole_plugins() {
    let mut ledger = ledger();
    for (text, upload) in [("a/global", 1), ("b/n1", 2), ("b/n2", 3)] {
        ledger.ok(1, started(text, upload));
        ledger.ok(2, stored(text, upload));
        ledger.ok(3, Event::PostProcessed { key: key(text), status: Status::Passed, counts: [].into() });
    }
    ledger.ok(4, Event::Archived { tar: TarInfo::default() });
    assert_eq!(ledger.verdict(at(5)), Verdict::Passed);
    ledger.ok(6, Event::PluginPostProcessed { plugin: plugin("b"), status: Status::Failed, counts: [].into() });
    assert_eq!(ledger.verdict(at(7)), Verdict::Failed);
}

#[test]
fn every_event_has_its_line_in_the_journal() {
    let events = [
        planned("b", &["b/n1", "b/n2"]),
        Event::Launched { plugin: plugin("b") },
        Event::LaunchFailed { plugin: plugin("b"), reason: "no".to_owned() },
        Event::Hello { key: key("b/n1"), from: "10.0.0.7".to_owned() },
        Event::Heartbeat { key: key("b/n1") },
        Event::Progress { key: key("b/n1"), update: ProgressUpdate { total: 3, ..ProgressUpdate::default() } },
        started("b/n1", 7),
        stored("b/n1", 7),
        broken("b/n1", 7),
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
        Event::Withdrawn { plugin: plugin("b"), reason: "nothing failed".to_owned() },
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
    // Runs of yesterday are continued today: lines may only gain keys.
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
fn nothing_is_planned_once_the_last_window_is_over() {
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &["a/global"]));
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, broken("a/global", 1));
    assert_eq!(ledger.clone().ok(1 + WINDOW, planned("c", &["c/global"])), []);
    assert_eq!(ledger.refused(2 + WINDOW, planned("c", &["c/global"])), Refusal::RunOver(plugin("c")));
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    let mut early = ledger();
    early.apply(Timestamp::MIN, started("a/global", 1)).unwrap();
    early.apply(Timestamp::MIN, broken("a/global", 1)).unwrap();
    assert!(early.tick(Timestamp::MAX).contains(&complete("a")));
    // There is no time left for a retry.
    let mut late = ledger();
    late.apply(Timestamp::MAX, started("a/global", 1)).unwrap();
    assert!(late.apply(Timestamp::MAX, broken("a/global", 1)).unwrap().contains(&complete("a")));
    assert_eq!(late.next_deadline(Timestamp::MAX), None);
}

#[test]
fn what_judges_say_is_in_the_status_and_in_place_of_a_plugin_s_result() {
    use crate::judgement::{VerdictStatus, VerdictSummary};
    use crate::verdict::Verdict;
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
