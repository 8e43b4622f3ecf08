//! Tests for uploads: received, duplicate, interrupted and retried.

use jiff::Timestamp;
use serde_json::json;

use super::words::{
    Short, WINDOW, at, broken, complete, content, failed, key, ledger, plugin, received, started, stored, timed_out,
    without_space,
};
use crate::ledger::{Effect, ErrorRecord, Event, KeyState, Refusal};
use crate::limits::FAILED_UPLOADS;
use crate::run_status::EntryStatus;

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
    // The end of the window does not affect an upload that started within it.
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
fn after_too_many_failed_uploads_the_failure_is_final() {
    let mut ledger = ledger();
    let mut now = 1;
    for upload in 1..FAILED_UPLOADS {
        ledger.ok(now, started("b/n1", upload.into()));
        assert_eq!(ledger.ok(now + 1, broken("b/n1", upload.into())), []);
        now += 1;
    }
    ledger.ok(now, started("b/n1", FAILED_UPLOADS.into()));
    ledger.ok(now + 1, broken("b/n1", FAILED_UPLOADS.into()));
    assert_eq!(ledger.error_of("b/n1"), "100 uploads failed, the maximum for a result; the last one: connection reset");
    assert_eq!(ledger.admit(&key("b/n1")), Err(Refusal::AlreadyReceived(key("b/n1"))));
    assert_eq!(ledger.refused(now + 2, started("b/n1", 500)), Refusal::AlreadyReceived(key("b/n1")));
    // Reasons that the journal keeps are bounded too.
    let long = Event::UploadFailed { key: key("b/n2"), upload: 1, reason: "x".repeat(100_000) };
    let Event::UploadFailed { reason, .. } = ledger.bounded(long) else { panic!("another event") };
    assert_eq!(reason.len(), 1_000);
}

#[test]
fn an_upload_without_disk_space_does_not_count() {
    let mut ledger = ledger();
    for upload in 0..2 * u64::from(FAILED_UPLOADS) {
        ledger.ok(2, started("b/n1", upload));
        assert_eq!(ledger.ok(2, without_space("b/n1", upload)), []);
    }
    let reason = "the disk is full".to_owned();
    assert_eq!(ledger.state(&key("b/n1")), Some(KeyState::Broken { at: at(2), reason }));
    for upload in 1..u64::from(FAILED_UPLOADS) {
        ledger.ok(3, started("b/n1", upload));
        ledger.ok(3, broken("b/n1", upload));
    }
    ledger.ok(5, started("b/n1", 500));
    ledger.ok(5, without_space("b/n1", 500));
    assert_eq!(ledger.admit(&key("b/n1")), Ok(()));
    ledger.ok(6, started("b/n1", 501));
    ledger.ok(6, broken("b/n1", 501));
    assert!(ledger.error_of("b/n1").starts_with("100 uploads failed"));
    // Otherwise it is a failed upload, because its sender cannot retry it.
    ledger.ok(7, started("b/n2", 1));
    ledger.ok(7, failed("b/n2", "the pod ended"));
    ledger.ok(8, without_space("b/n2", 1));
    assert_eq!(ledger.error(&key("b/n2")).unwrap().details["upload"], json!("the disk is full"));
    let long = Event::UploadDelayed { key: key("a/global"), upload: 1, reason: "x".repeat(100_000) };
    let Event::UploadDelayed { reason, .. } = ledger.bounded(long) else { panic!("another event") };
    assert_eq!(reason.len(), 1_000);
}

#[test]
fn the_window_ends_without_a_tick() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, broken("a/global", 1));
    let over = 2 + WINDOW;
    assert!(ledger.is_plugin_complete(&plugin("a"), at(over)));
    assert_eq!(ledger.status(at(over)).plugins.unwrap()[0].status, EntryStatus::Failed);
    assert_eq!(ledger.refused(over, started("a/global", 2)), Refusal::AlreadyReceived(key("a/global")));
    assert_eq!(ledger.refused(over, failed("a/global", "e")), Refusal::AlreadyReceived(key("a/global")));
    // An event of the same plugin ends the window like a tick.
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
    // A deadline in the past is due now.
    assert_eq!(ledger.next_deadline(at(9_000)), Some(at(9_000)));
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
    // The sender did nothing wrong, so the result is still expected.
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Waiting));
    // There is no sender left to retry.
    assert_eq!(ledger.error(&key("b/n1")).unwrap().details["upload"], json!("the aggregator was restarted"));
    // The interrupted retry has its full window again.
    assert!(matches!(ledger.state(&key("b/n2")), Some(KeyState::Broken { at: since, .. }) if since == at(1_000)));
    assert_eq!(ledger.next_deadline(at(1_000)), Some(at(1_000 + WINDOW)));
    assert!(matches!(ledger.refused(1_001, stored("a/global", 1)), Refusal::StaleUpload { .. }));
    ledger.ok(1_002, started("a/global", 5));
    assert_eq!(ledger.ok(1_003, stored("a/global", 5)), [received("a/global"), complete("a")]);
}

#[test]
fn the_first_and_last_timestamps_are_accepted() {
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

fn claimed(text: &str, upload: u64) -> Event {
    Event::UploadClaimed { key: key(text), upload }
}

#[test]
fn from_its_claim_on_nothing_but_its_end_decides_an_upload() {
    for decided in [failed("b/n1", "gone"), timed_out("b"), Event::Interrupted] {
        let mut ledger = ledger();
        ledger.ok(1, started("b/n1", 1));
        ledger.ok(2, claimed("b/n1", 1));
        assert!(ledger.is_claimed(&key("b/n1"), 1));
        ledger.ok(3, decided.clone());
        // Far beyond the time for which an upload may hold back a timeout.
        assert_eq!(ledger.next_deadline(at(9_000)), None);
        assert_eq!(ledger.tick(at(9_000)), [], "{decided:?}");
        assert!(ledger.ok(9_001, stored("b/n1", 1)).contains(&received("b/n1")), "{decided:?}");
    }
}

#[test]
fn a_claim_comes_in_time_or_is_refused() {
    let mut ledger = ledger();
    assert!(matches!(ledger.refused(1, claimed("b/n1", 1)), Refusal::StaleUpload { .. }));
    ledger.ok(1, started("b/n1", 1));
    ledger.ok(2, timed_out("b"));
    let over = 2 + WINDOW;
    assert_eq!(ledger.refused(over, claimed("b/n1", 1)), Refusal::AlreadyReceived(key("b/n1")));
    ledger.ok(over - 1, claimed("b/n1", 1));
    assert!(matches!(ledger.refused(over, claimed("b/n1", 1)), Refusal::StaleUpload { .. }), "once");
    ledger.ok(over + 1, broken("b/n1", 1));
    assert_eq!(ledger.error_of("b/n1"), crate::ledger::TIMEOUT_ERROR);
}

#[test]
fn a_claim_ends_with_the_process_that_made_it() {
    let mut ledger = ledger();
    ledger.ok(1, started("a/global", 1));
    ledger.ok(2, claimed("a/global", 1));
    ledger.ok(3, Event::Restarted);
    assert_eq!(ledger.state(&key("a/global")), Some(KeyState::Waiting));
}

#[test]
fn a_plugin_that_is_launched_again_has_no_more_time_than_before() {
    let mut ledger = ledger();
    ledger.ok(1, Event::Launched { plugin: plugin("a") });
    ledger.ok(500, Event::Restarted);
    ledger.ok(501, Event::Launched { plugin: plugin("a") });
    assert_eq!(ledger.launched(&plugin("a")), Some(at(1)));
}
