//! Launches, adoptions and failures.

use std::time::Duration;

use plumbline_aggregator::ExitKind;
use plumbline_dev::FaultKind;
use plumbline_kubernetes::names;
use serde_json::{Value, json};

use super::bed::{Bed, OWNER, refusal, session};
use super::samples::{DAEMON_SET, JOB, access};

fn job_name() -> String {
    format!("sonobuoy-hello-job-{}", session("hello"))
}

/// Returns a pod of that name that somebody else created.
fn pod(labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": job_name(), "namespace": "checks", "labels": labels},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    })
}

fn own_labels() -> Value {
    json!({"sonobuoy-plugin": "hello", "sonobuoy-run": session("hello"), "component": "sonobuoy", "sonobuoy-component": "plugin"})
}

#[tokio::test]
async fn a_job_becomes_a_secret_and_a_pod() {
    let bed = Bed::new().await;
    bed.launch(JOB).await.unwrap();
    assert_eq!(bed.names("secrets"), [names::CERTIFICATES_SECRET]);
    assert_eq!(bed.names("pods"), [job_name()]);
    let posts: Vec<String> =
        bed.double.requests().into_iter().filter(|it| it.method == "POST").map(|it| it.path).collect();
    assert_eq!(
        posts,
        ["/api/v1/namespaces/checks/secrets", "/api/v1/namespaces/checks/pods"],
        "a pod would start with a Secret that is not there"
    );
}

#[tokio::test]
async fn a_daemon_set_is_created_and_kept_by_a_restarted_aggregator() {
    let bed = Bed::new().await;
    bed.launch(DAEMON_SET).await.unwrap();
    let before = bed.double.list("daemonsets");
    let bed = bed.restart().await;
    bed.launch(DAEMON_SET).await.unwrap();
    assert_eq!(bed.double.list("daemonsets"), before, "adopted as it is");
    assert_eq!(bed.names("secrets").len(), 1);
}

#[tokio::test]
async fn an_adopted_secret_gets_the_new_certificate() {
    let bed = Bed::new().await;
    bed.launch(JOB).await.unwrap();
    bed.double
        .update("secrets", "checks", names::CERTIFICATES_SECRET, |secret| secret["data"]["hello.crt"] = json!("b2xk"));
    let bed = bed.restart().await;
    bed.launch(JOB).await.unwrap();
    let secret = bed.double.get("secrets", "checks", names::CERTIFICATES_SECRET).unwrap();
    // This is "certificate" in base64.
    assert_eq!(secret["data"]["hello.crt"], "Y2VydGlmaWNhdGU=");
    assert_eq!(bed.names("pods"), [job_name()]);
}

#[tokio::test]
async fn a_pod_on_its_way_out_is_waited_for() {
    let bed = Bed::new().await;
    let mut old = pod(&own_labels());
    old["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    old["metadata"]["finalizers"] = json!(["example.org/slow"]);
    bed.double.put("pods", old);
    let launching = bed.launch(JOB);
    let leaving = async {
        // The pod is removed after the dispatcher has seen it.
        while bed.asked("GET", &format!("pods/{}", job_name())).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bed.double.remove("pods", "checks", &job_name());
    };
    tokio::join!(launching, leaving).0.unwrap();
    let made = bed.double.get("pods", "checks", &job_name()).unwrap();
    assert!(made["metadata"].get("deletionTimestamp").is_none());
    assert_eq!(made["spec"]["containers"][0]["name"], "plugin");
}

#[tokio::test]
async fn a_pod_of_somebody_else_is_neither_used_nor_removed() {
    let bed = Bed::new().await;
    bed.double.put("pods", pod(&json!({"app": "else"})));
    let error = bed.launch(JOB).await.unwrap_err();
    assert!(error.message.contains(&job_name()) && error.message.contains("does not belong to this run"), "{error}");
    assert_eq!(bed.names("pods"), [job_name()]);
}

#[tokio::test]
async fn a_missing_permission_is_reported_and_nothing_is_left_behind() {
    let bed = Bed::new().await;
    let message = "daemonsets.apps is forbidden: User \"system:serviceaccount:checks:sa\" cannot create resource \"daemonsets\" in API group \"apps\" in the namespace \"checks\"";
    bed.fault("POST", "/daemonsets", refusal(403, message), 1);
    let error = bed.launch(DAEMON_SET).await.unwrap_err();
    assert!(error.message.starts_with("failed to create DaemonSet `sonobuoy-each-daemon-set-"), "{error}");
    assert!(error.message.contains(message), "{error}");
    assert!(error.message.contains("permission to `create` `daemonsets` of `apps` in namespace `checks`"), "{error}");
    assert_eq!(bed.asked("POST", "daemonsets").len(), 1, "asking again would not help");
    assert!(bed.names("daemonsets").is_empty());
}

#[tokio::test]
async fn a_daemon_set_whose_pods_are_rejected_is_reported_at_once() {
    let bed = Bed::new().await;
    let message = "pods \"each-x\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces";
    bed.fault("POST", "/pods?", refusal(403, message), 1);
    let error = bed.launch(DAEMON_SET).await.unwrap_err();
    assert!(error.message.starts_with("failed to create pods of DaemonSet `sonobuoy-each-daemon-set-"), "{error}");
    assert!(error.message.contains(message) && error.message.contains("--namespace-psa-enforce-level"), "{error}");
    assert!(bed.names("daemonsets").is_empty() && bed.names("pods").is_empty());
}

#[tokio::test]
async fn a_dry_run_that_says_nothing_about_the_pods_stops_no_daemon_set() {
    let refusals = [
        (400, "admission webhook \"w\" does not support dry run"),
        (403, "admission webhook \"w\" denied the request: only controllers may create pods"),
        (403, "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"),
        (403, "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1"),
        (403, "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\" in the namespace \"n\""),
    ];
    for (code, message) in refusals {
        let bed = Bed::new().await;
        bed.fault("POST", "/pods?", refusal(code, message), 1);
        bed.launch(DAEMON_SET).await.unwrap();
        assert_eq!((bed.names("daemonsets").len(), bed.names("pods").len()), (1, 0), "{message}");
    }
}

#[tokio::test]
async fn an_object_that_the_server_rejects_is_reported_with_its_message() {
    let bed = Bed::new().await;
    bed.fault("POST", "/pods", refusal(422, "Pod \"p\" is invalid: spec.containers[0].image: Required value"), 1);
    let error = bed.launch(JOB).await.unwrap_err();
    assert!(error.message.contains("spec.containers[0].image: Required value"), "{error}");
    assert!(bed.names("pods").is_empty());
}

#[tokio::test]
async fn a_busy_server_is_asked_again() {
    let bed = Bed::new().await;
    let busy = FaultKind::Status { code: 429, message: "too many requests".into(), retry_after: Some(1) };
    bed.fault("POST", "/pods", busy, 1);
    bed.fault("POST", "/secrets", refusal(503, "etcd is away"), 2);
    bed.launch(JOB).await.unwrap();
    let codes = |resource| bed.asked("POST", resource).iter().map(|it| it.status).collect::<Vec<_>>();
    assert_eq!(codes("secrets"), [503, 503, 201]);
    assert_eq!(codes("pods"), [429, 201]);
}

#[tokio::test]
async fn an_answer_that_was_lost_does_not_count() {
    let bed = Bed::new().await;
    bed.fault("POST", "/pods", FaultKind::Reset, 1);
    bed.launch(JOB).await.unwrap();
    assert_eq!(bed.names("pods"), [job_name()]);
}

#[tokio::test]
async fn a_plugin_that_runs_outlasts_an_api_server_that_fails() {
    for (yaml, resource) in [(JOB, "pods"), (DAEMON_SET, "daemonsets")] {
        let bed = Bed::new().await;
        bed.launch(yaml).await.unwrap();
        let before = bed.double.list(resource);
        // The aggregator restarts, and cannot update the Secret.
        let bed = bed.restart().await;
        bed.fault("POST", "/secrets", refusal(503, "etcd is away"), u32::MAX);
        assert!(bed.launch_in_vain(yaml).await.is_temporary);
        assert!(bed.asked("DELETE", resource).is_empty());
        bed.launch(yaml).await.unwrap();
        assert_eq!(bed.double.list(resource), before, "adopted as it is");
    }
}

#[tokio::test]
async fn a_pod_whose_answer_was_lost_waits_for_the_next_attempt() {
    let bed = Bed::new().await;
    bed.fault("POST", "/pods", FaultKind::LostAnswer, 1);
    bed.fault("POST", "/pods", refusal(503, "etcd is away"), u32::MAX);
    let lost = async {
        while bed.names("pods").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The retries need no time.
        tokio::time::pause();
    };
    let (launched, ()) = tokio::join!(bed.launch(JOB), lost);
    tokio::time::resume();
    assert!(launched.unwrap_err().is_temporary);
    let before = bed.double.list("pods");
    bed.double.clear_faults();
    bed.launch(JOB).await.unwrap();
    assert_eq!(bed.double.list("pods"), before);
    assert!(bed.asked("DELETE", "pods").is_empty());
}

#[tokio::test]
async fn a_conflict_over_a_quota_passes() {
    let bed = Bed::new().await;
    bed.fault("POST", "/pods", refusal(409, "Operation cannot be fulfilled on resourcequotas \"q\": try again"), 1);
    bed.launch(JOB).await.unwrap();
    assert_eq!(bed.names("pods"), [job_name()]);
}

#[tokio::test]
async fn a_conflict_on_the_secret_of_all_plugins_passes() {
    for method in ["GET", "PUT", "PATCH"] {
        let bed = Bed::new().await;
        bed.launch(JOB).await.unwrap();
        bed.fault(method, "/secrets/", refusal(409, "the object has been modified"), 1);
        bed.launch(DAEMON_SET).await.unwrap_or_else(|error| panic!("{method}: {error}"));
        assert_eq!(bed.names("daemonsets").len(), 1, "{method}");
    }
}

#[tokio::test]
async fn a_local_driver_is_refused_before_anything_happens() {
    let bed = Bed::new().await;
    let error = bed.launch(&JOB.replace("Job", "Process")).await.unwrap_err();
    assert!(error.message.contains("--local"), "{error}");
    assert!(bed.double.requests().iter().all(|it| it.method == "GET"), "nothing was created");
}

#[tokio::test]
async fn settling_deletes_nothing() {
    let bed = Bed::new().await;
    bed.launch(JOB).await.unwrap();
    bed.settle(JOB).await;
    assert_eq!(bed.names("pods"), [job_name()]);
}

#[tokio::test]
async fn a_restarted_aggregator_learns_how_a_pod_ended_that_it_did_not_launch() {
    let bed = Bed::new().await;
    bed.launch(JOB).await.unwrap();
    bed.double.update("pods", "checks", &job_name(), |pod| {
        pod["status"] = json!({"phase": "Failed", "containerStatuses": [
            {"name": "plugin", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]});
    });
    // No log is written in these tests.
    bed.double.deny("get", "pods/log");
    let exits = bed.restart().await.settle(JOB).await;
    let [exit] = exits.as_slice() else { panic!("{exits:?}") };
    assert_eq!((exit.key.to_string().as_str(), exit.kind), ("hello/global", ExitKind::Failure), "{}", exit.text);
}

#[tokio::test]
async fn objects_of_a_lost_aggregator_are_replaced() {
    for yaml in [JOB, DAEMON_SET] {
        let bed = Bed::new().await;
        bed.launch(yaml).await.unwrap();
        // The aggregator's pod was lost, and there is another one with the same name.
        let uids = |bed: &Bed| {
            let all = ["secrets", "pods", "daemonsets"].iter().flat_map(|resource| bed.double.list(resource));
            all.map(|object| object["metadata"]["uid"].clone()).collect::<Vec<_>>()
        };
        for resource in ["secrets", "pods", "daemonsets"] {
            for name in bed.names(resource) {
                bed.double.update(resource, "checks", &name, |object| {
                    object["metadata"]["ownerReferences"][0]["uid"] = json!("00000000-0000-0000-0000-00000000dead");
                });
            }
        }
        let before = uids(&bed);
        let bed = bed.restart().await;
        bed.launch(yaml).await.unwrap();
        let after = uids(&bed);
        assert_eq!((before.len(), after.len()), (2, 2));
        assert!(after.iter().all(|uid| !before.contains(uid)), "{before:?} {after:?}");
        let owners = ["secrets", "pods", "daemonsets"].iter().flat_map(|resource| bed.double.list(resource));
        assert!(owners.into_iter().all(|object| object["metadata"]["ownerReferences"][0]["uid"] == OWNER));
    }
}

#[tokio::test]
async fn objects_whose_workers_know_another_address_are_replaced() {
    for (yaml, resource, spec) in [(JOB, "pods", "/spec"), (DAEMON_SET, "daemonsets", "/spec/template/spec")] {
        let bed = Bed::new().await;
        bed.launch(yaml).await.unwrap();
        // The aggregator continues in another pod of its Job, or in its pod after a restart of the node.
        let name = bed.names(resource).remove(0);
        let own = access().aggregator_url;
        let changed = bed.double.update(resource, "checks", &name, |object| {
            object["metadata"]["ownerReferences"][0]["name"] = json!("plumbline-schedule-29700000-abcde");
            *object = object.to_string().replace(&own, "https://10.0.0.9:8080").parse().unwrap();
        });
        assert!(changed);
        let before = bed.double.get(resource, "checks", &name).unwrap();
        assert!(before.to_string().contains("https://10.0.0.9:8080"));
        let bed = bed.restart().await;
        bed.launch(yaml).await.unwrap();
        let after = bed.double.get(resource, "checks", &name).unwrap();
        assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
        assert!(after.pointer(spec).unwrap().to_string().contains(&own));
        // A worker that knows the address goes on with its work.
        let bed = bed.restart().await;
        bed.launch(yaml).await.unwrap();
        assert_eq!(bed.double.get(resource, "checks", &name).unwrap(), after);
    }
}

#[tokio::test]
async fn certificates_of_all_plugins_are_in_one_secret_that_the_role_names() {
    let bed = Bed::new().await;
    let stale = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": names::CERTIFICATES_SECRET, "namespace": "checks",
            "labels": {"component": "sonobuoy"}, "annotations": {names::RUN_ANNOTATION: "an-earlier-run"},
        },
        "data": {"earlier.key": "a2V5"},
    });
    bed.double.put("secrets", stale);
    bed.launch(JOB).await.unwrap();
    bed.launch(DAEMON_SET).await.unwrap();
    let secret = bed.double.get("secrets", "checks", names::CERTIFICATES_SECRET).unwrap();
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["each.crt", "each.key", "hello.crt", "hello.key"], "those of an earlier run are gone");
    // The aggregator's role allows no list, but get, patch and delete of constant names.
    for request in bed.double.requests().iter().filter(|request| request.path.contains("/secrets")) {
        let named = request.path.ends_with(names::CERTIFICATES_SECRET);
        assert!(named || request.method == "POST", "{} {}", request.method, request.path);
    }
}
