use super::super::samples::{pod_with, running, view};
use super::*;

fn verdict(kind: Kind) -> Verdict {
    Verdict {
        key: "p/w1".parse().unwrap(),
        kind,
        sentence: "it broke".into(),
        session: "s1".into(),
        container: "scan".into(),
        node: Some("w1".into()),
        pod: Some(view(&pod_with("p-x", "w1", running(), running()))),
        last: None,
    }
}

fn with_worker_log(text: &str) -> Evidence {
    let logs = json!({"sonobuoy-worker": {"last": text}});
    Evidence { logs: logs.as_object().unwrap().clone(), ..Evidence::default() }
}

#[test]
fn the_last_events_are_recorded_in_order_and_in_brief() {
    let event = |n: usize| {
        json!({"metadata": {"name": "e", "managedFields": []}, "lastTimestamp": format!("2026-01-01T00:00:{:02}Z", 59 - n),
            "reason": "Pulling", "message": format!("{n}"), "count": n, "type": "Normal", "involvedObject": {}})
    };
    let list = json!({"items": (0..30).map(event).collect::<Vec<_>>()});
    let events = last_events(&list);
    assert_eq!(events.len(), EVENTS);
    assert_eq!(
        events.last().unwrap(),
        &json!({"time": "2026-01-01T00:00:59Z", "type": "Normal", "reason": "Pulling", "message": "0", "count": 0})
    );
    assert_eq!(events[0]["message"], "19");
    assert!(last_events(&json!({"items": [null, {"message": {}}]})).len() == 2);
    assert!(last_events(&json!(null)).is_empty());
}

#[test]
fn a_worker_tells_why_it_was_not_heard_of_and_one_of_another_make_does_not() {
    let log = "INFO worker started key=p/w1\nWARN failed to reach the aggregator; retrying cause=\"failed to connect: connection refused\"\nDEBUG looking\n";
    let evidence = with_worker_log(log);
    let record = evidence.record(&verdict(Kind::Hello), "the worker did not reach the aggregator", None);
    assert!(record.error.ends_with("connection refused\""), "{}", record.error);
    assert_eq!(with_worker_log("level=trace msg=\"Waiting for waitfile\"").worker_says(), WorkerSays::Foreign);
    assert_eq!(with_worker_log("INFO worker started\n").worker_says(), WorkerSays::Ours(None));
    assert_eq!(Evidence::default().worker_says(), WorkerSays::Nothing);
}

#[test]
fn the_cause_has_its_hint_and_no_log_prefix() {
    let warned = "2026-11-21T17:10:57.9Z  WARN failed to reach the aggregator; retrying cause=connect to 10.0.0.7:8080: Connection refused (os error 111) hint=\"check the address\"";
    let again = "2026-11-21T17:10:58.8Z DEBUG still failing to reach the aggregator; retrying cause=connect to 10.0.0.7:8080: Connection refused (os error 111)";
    let cause = "connect to 10.0.0.7:8080: Connection refused (os error 111)";
    let evidence = with_worker_log(&format!("{warned}\n{again}\n{again}\n"));
    assert_eq!(evidence.worker_says(), WorkerSays::Ours(Some(format!("{cause} (check the address)"))));
    let record = evidence.record(&verdict(Kind::Hello), "the worker did not reach the aggregator", None);
    assert!(record.error.ends_with(&format!("the worker says: {cause} (check the address)")), "{}", record.error);
    // A message that scrolled out of the tail is no longer available.
    assert_eq!(with_worker_log(again).worker_says(), WorkerSays::Ours(Some(cause.to_owned())));
}

#[test]
fn a_record_carries_what_was_found_and_says_what_was_not() {
    let pod = json!({"metadata": {"name": "p-x"}});
    let evidence = Evidence { missing: vec!["failed to list events".into()], ..Evidence::default() };
    let record = evidence.record(&verdict(Kind::ImagePull), "it broke", Some(pod.clone()));
    let json = record.to_error_json();
    assert_eq!(
        json,
        json!({"error": "it broke", "reason": "ImagePull", "node": "w1", "pod": pod, "notGathered": ["failed to list events"]})
    );
}

#[test]
fn a_pod_that_no_journal_could_hold_is_left_out() {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let large = json!("x".repeat(MAX_POD_BYTES));
    for annotations in [deep, large] {
        let pod = json!({"metadata": {"name": "p-x", "annotations": annotations}});
        let record = Evidence::default().record(&verdict(Kind::ImagePull), "it broke", Some(pod));
        assert_eq!(record.details["pod"], json!({"metadata": {"name": "p-x"}}));
        assert_eq!(record.details["notGathered"].as_array().unwrap().len(), 1);
    }
}
