use serde_json::json;

use super::*;

#[test]
fn texts_that_are_empty_are_left_out_and_need_not_be_there() {
    let ruling = Ruling { class: "flaky".into(), ..Ruling::default() };
    let value = serde_json::to_value(&ruling).unwrap();
    assert_eq!(value, json!({"class": "flaky", "counts": false}));
    assert_eq!(serde_json::from_value::<Ruling>(value).unwrap(), ruling);
    let value = json!({"id": "PODS-001", "name": "pods are healthy", "outcome": "failed", "got": "1 of 2"});
    let check: Check = serde_json::from_value(value.clone()).unwrap();
    assert_eq!((check.outcome, check.want.as_str()), (CheckOutcome::Failed, ""));
    assert_eq!(serde_json::to_value(check).unwrap(), value);
}

#[test]
fn outcomes_are_serialized_by_name() {
    for outcome in [CheckOutcome::Passed, CheckOutcome::Failed, CheckOutcome::Unknown] {
        assert_eq!(serde_json::to_value(outcome).unwrap(), json!(outcome.as_str()));
    }
}
