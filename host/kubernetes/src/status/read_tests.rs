//! The states of a pod, and the reported status or error of each.

use serde_json::{Value, json};

use super::*;

fn pod(phase: &str, status: Option<&str>, more: Value) -> PodView {
    let mut pod = json!({
        "metadata": {"name": "sonobuoy", "namespace": "ns", "creationTimestamp": "2026-11-20T13:00:00Z"},
        "spec": {"nodeName": "node-1", "containers": [{"name": "kube-sonobuoy", "image": "x/y:1"}]},
        "status": {"phase": phase},
    });
    if let Some(status) = status {
        pod["metadata"]["annotations"] = json!({names::STATUS_ANNOTATION: status});
    }
    if let (Some(all), Value::Object(more)) = (pod["status"].as_object_mut(), more) {
        all.extend(more);
    }
    PodView::read(&pod).unwrap()
}

fn seen(pod: &PodView) -> Result<Seen, StatusError> {
    look("ns", pod, pod.run_status.as_deref().map(parse))
}

fn message_of(pod: &PodView) -> String {
    let error = seen(pod).unwrap_err();
    format!("{error}\n{}", error.hint().unwrap_or_default())
}

#[test]
fn each_failure_says_what_and_what_to_do() {
    let pulling = json!({"containerStatuses": [{"name": "kube-sonobuoy", 
        "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]});
    let crashing = json!({"containerStatuses": [{"name": "kube-sonobuoy", 
        "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}}}]});
    let unschedulable = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available"}]});
    let ended = json!({"containerStatuses": [{"name": "kube-sonobuoy", "restartCount": 0,
        "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]});
    let all = [
        pod("Pending", None, json!({})),
        pod("Pending", None, pulling),
        pod("Pending", None, unschedulable),
        pod("Running", None, json!({})),
        pod("Running", None, crashing),
        pod("Running", Some("{\"plugins\": 3"), json!({})),
        pod("Failed", None, ended),
        pod("Failed", Some("{}"), json!({"reason": "Evicted", "message": "The node was low on memory."})),
        pod("Failed", None, json!({})),
        pod(
            "Failed",
            Some(
                r#"{"status":"failed","failure":{"reason":"the bundle of plugin `a` cannot be fetched","hint":"name a Secret"}}"#,
            ),
            json!({}),
        ),
        pod("Succeeded", Some(r#"{"status":"running"}"#), json!({})),
        pod("Unknown", None, json!({})),
    ];
    insta::assert_snapshot!(all.iter().map(message_of).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn the_status_of_a_running_pod_is_read() {
    let running = pod("Running", Some(r#"{"status":"running","heartbeat":"2026-11-20T13:00:00Z"}"#), json!({}));
    let seen_now = seen(&running).unwrap();
    let at = |text: &str| text.parse().unwrap();
    assert_eq!(seen_now.silent_for(at("2026-11-20T13:00:59Z")), None);
    assert_eq!(seen_now.silent_for(at("2026-11-20T13:02:00Z")).unwrap().as_secs(), 120);
    let complete = pod("Succeeded", Some(r#"{"status":"complete","heartbeat":"2026-11-20T13:00:00Z"}"#), json!({}));
    assert_eq!(seen(&complete).unwrap().silent_for(at("2026-11-21T13:00:00Z")), None);
    let failed = pod("Failed", Some(r#"{"status":"running"}"#), json!({}));
    assert!(seen(&failed).unwrap_err().last().is_some());
}

#[test]
fn a_scheduled_run_that_did_not_pass_has_its_verdict_although_its_pod_failed() {
    let ended = |phase: &str, result: &str, code: i64| {
        let plugins = json!([{"plugin": "a", "node": "global", "status": "complete", "result-status": result}]);
        let state = json!({"terminated": {"exitCode": code, "reason": "Error"}});
        let statuses = json!([{"name": "kube-sonobuoy", "restartCount": 0, "state": state}]);
        let status = json!({"status": phase, "plugins": plugins}).to_string();
        seen(&pod("Failed", Some(&status), json!({"containerStatuses": statuses})))
    };
    let failed = ended("complete", "failed", 1).unwrap();
    assert!(failed.is_over());
    assert_eq!(Verdict::from_run(&failed.status), Verdict::Failed);
    // The archive was not uploaded, the run was not over, or something else ended the pod.
    for (phase, result, code) in [
        ("complete", "passed", 4),
        ("complete", "failed", 4),
        ("running", "failed", 3),
        ("complete", "failed", 137),
        ("complete", "passed", 0),
        ("complete", "failed", 0),
    ] {
        let ended = ended(phase, result, code);
        assert!(matches!(ended, Err(StatusError::PodFailed { last: Some(_), .. })), "{phase} {result} {code}");
    }
}

#[test]
fn the_last_events_are_listed_in_their_order() {
    let event = |n: u32, time: Value| {
        let mut event = json!({"metadata": {}, "involvedObject": {}, "reason": format!("R{n}"), "message": "a\n b"});
        event.as_object_mut().unwrap().extend(time.as_object().unwrap().clone());
        serde_json::from_value::<Event>(event).unwrap()
    };
    let mut all: Vec<_> =
        (1..7).map(|n| event(n, json!({"lastTimestamp": format!("2026-11-20T13:0{n}:00Z")}))).collect();
    all.push(event(9, json!({"eventTime": "2026-11-20T13:03:30.000000Z"})));
    all.push(event(0, json!({})));
    assert_eq!(lines(all), ["R3: a b", "R9: a b", "R4: a b", "R5: a b", "R6: a b"]);
}
