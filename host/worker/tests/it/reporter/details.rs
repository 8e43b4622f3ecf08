//! Details and an Event, which are written in addition to the condition.

use serde_json::{Value, json};

use crate::reporter::bed::Bed;

const RESULT: &str = r#"{"status":"failure","reason":"Bad","message":"m","details":{"checks": 5}}"#;

#[tokio::test]
async fn an_event_tells_the_outcome() {
    let bed = Bed::with(&[("DETAILS_TO", "event")]).await;
    bed.write(RESULT);
    bed.report().await;
    let events = bed.double.list("events");
    assert_eq!(events.len(), 1);
    let event = &events[0];
    assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("Bad")));
    assert_eq!(event["message"], r#"m; details: {"checks": 5}"#);
    let job = bed.double.get("jobs", "default", "j").unwrap();
    assert_eq!(
        (&event["involvedObject"]["kind"], &event["involvedObject"]["uid"]),
        (&json!("Job"), &job["metadata"]["uid"])
    );
    // Without a change, there is no further event.
    bed.report().await;
    assert_eq!(bed.double.list("events").len(), 1);
}

#[tokio::test]
async fn nothing_is_kept_unless_somebody_asked() {
    let bed = Bed::new().await;
    bed.write(RESULT);
    bed.report().await;
    assert!(bed.double.list("configmaps").is_empty());
    assert!(bed.writes().iter().all(|one| !String::from_utf8_lossy(&one.body).contains("checks")));
}

#[tokio::test]
async fn details_are_kept_in_an_annotation() {
    let bed = Bed::with(&[("DETAILS_TO", "annotation")]).await;
    bed.write(RESULT);
    bed.report().await;
    let job = bed.double.get("jobs", "default", "j").unwrap();
    assert_eq!(job["metadata"]["annotations"]["plumbline.dev/adapter-details"], r#"{"checks": 5}"#);
    // The annotation is part of the same request as the condition, so that no further permissions
    // are needed if the API server accepts it.
    let with_it = bed.writes().into_iter().find(|one| one.path.ends_with("/jobs/j/status")).unwrap();
    let patch: Value = serde_json::from_slice(&with_it.body).unwrap();
    assert_eq!(patch["metadata"]["annotations"]["plumbline.dev/adapter-details"], r#"{"checks": 5}"#);
    assert!(patch["metadata"]["resourceVersion"].is_string());
}

#[tokio::test]
async fn an_annotation_that_is_refused_does_not_cost_the_condition() {
    let bed = Bed::with(&[("DETAILS_TO", "annotation")]).await;
    bed.double.deny("patch", "jobs");
    bed.write(RESULT);
    bed.refuse("PATCH", "/jobs/j/status", 422, 1);
    bed.report().await;
    bed.expect("False", "Bad", "m");
}

#[tokio::test]
async fn details_are_kept_in_a_config_map_of_the_job() {
    let bed = Bed::with(&[("DETAILS_TO", "configmap")]).await;
    let kept = || bed.double.get("configmaps", "default", "j-adapter-details").unwrap();
    bed.write(RESULT);
    bed.report().await;
    let job = bed.double.get("jobs", "default", "j").unwrap();
    assert_eq!(kept()["data"]["details.json"], r#"{"checks": 5}"#);
    assert_eq!(kept()["metadata"]["ownerReferences"][0]["uid"], job["metadata"]["uid"]);
    bed.write(&RESULT.replace('5', "6"));
    bed.report().await;
    assert_eq!(kept()["data"]["details.json"], r#"{"checks": 6}"#);
}

#[tokio::test]
async fn somebody_elses_config_map_stays_as_it_is() {
    let bed = Bed::with(&[("DETAILS_TO", "configmap")]).await;
    bed.double.put("configmaps", json!({"metadata": {"name": "j-adapter-details"}, "data": {"a": "b"}}));
    bed.write(RESULT);
    bed.report().await;
    bed.expect("False", "Bad", "m");
    let there = bed.double.get("configmaps", "default", "j-adapter-details").unwrap();
    assert_eq!(there["data"], json!({"a": "b"}));
}

#[tokio::test]
async fn without_the_permission_there_is_the_condition_and_no_more() {
    for to in ["configmap", "event", "annotation"] {
        let bed = Bed::with(&[("DETAILS_TO", to)]).await;
        bed.promised_permissions();
        bed.write(RESULT);
        bed.report().await;
        bed.expect("False", "Bad", "m");
    }
}
