use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::samples::{ended, pod_with, running, view, waiting};
use super::*;

fn assessed(pod: &Value) -> String {
    match assess(&view(pod), "scan", &GracePeriods::default()) {
        Some(trouble) => format!("{:?}: {}", trouble.kind, trouble.sentence()),
        None => "well".to_owned(),
    }
}

fn with(mut pod: Value, path: &str, key: &str, value: Value) -> Value {
    pod.pointer_mut(path).unwrap()[key] = value;
    pod
}

/// Returns a pod whose worker is a native sidecar.
fn worker_as_sidecar(plugin: Value, worker: Value) -> Value {
    let mut pod = pod_with("p-x", "w1", plugin, worker);
    let spec = pod["spec"]["containers"].as_array_mut().unwrap().pop().unwrap();
    let status = pod["status"]["containerStatuses"].as_array_mut().unwrap().pop().unwrap();
    pod["spec"]["initContainers"] = json!([with(spec, "", "restartPolicy", json!("Always"))]);
    pod["status"]["initContainerStatuses"] = json!([status]);
    pod
}

#[test]
fn each_trouble_has_a_sentence_that_names_what_it_is_about() {
    let pod = |plugin: Value| pod_with("p-x", "w1", plugin, running());
    let starting = || pod_with("p-x", "w1", waiting("PodInitializing", ""), waiting("PodInitializing", ""));
    let init = |state: Value, spec: Value| {
        let pod = with(starting(), "/spec", "initContainers", json!([spec]));
        with(pod, "/status", "initContainerStatuses", json!([{"name": "prepare", "restartCount": 0, "state": state}]))
    };
    let unschedulable = |pod: Value| {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient cpu."});
        with(with(pod, "/status", "conditions", json!([condition])), "/spec", "nodeName", Value::Null)
    };
    let loops = |code: i64, reason: &str| {
        let last = ended(code, reason);
        json!({"waiting": {"reason": "CrashLoopBackOff"}, "restartCount": 4, "lastState": last})
    };
    let pulls = "rpc error: dial tcp 10.0.0.1:443: i/o timeout";
    let cases = [
        ("image", pod(waiting("ImagePullBackOff", pulls))),
        (
            "image of an init container",
            init(waiting("ErrImageNeverPull", "not present"), json!({"name": "prepare", "image": "i"})),
        ),
        ("image name", pod(waiting("InvalidImageName", "couldn't parse image name \"A B\""))),
        ("configuration", pod(waiting("CreateContainerConfigError", "secret \"token\" not found"))),
        ("command", pod(waiting("RunContainerError", "exec: \"/nope\": no such file or directory"))),
        ("volume", starting()),
        ("volume of an init container", init(waiting("PodInitializing", ""), json!({"name": "prepare"}))),
        ("no node", unschedulable(starting())),
        ("crash loop", pod(loops(1, "Error"))),
        ("crash loop for memory", pod(loops(137, "OOMKilled"))),
        ("finished", pod(ended(0, "Completed"))),
        ("exit code", pod(ended(3, "Error"))),
        ("memory", pod(ended(137, "OOMKilled"))),
        ("memory of a child", pod(ended(0, "OOMKilled"))),
        ("worker as a sidecar", worker_as_sidecar(ended(0, "Completed"), loops(1, "Error"))),
        (
            "worker",
            pod_with(
                "p-x",
                "w1",
                ended(0, "Completed"),
                json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "failed to send: 403"}}),
            ),
        ),
        ("worker without plugin", pod_with("p-x", "w1", running(), ended(0, "Completed"))),
        ("init", init(ended(2, "Error"), json!({"name": "prepare"}))),
        (
            "evicted",
            with(
                with(with(pod(running()), "/status", "phase", json!("Failed")), "/status", "reason", json!("Evicted")),
                "/status",
                "message",
                json!("The node was low on resource: memory."),
            ),
        ),
        (
            "deleted",
            with(
                with(pod(running()), "/metadata", "deletionTimestamp", json!("2026-01-01T00:00:30Z")),
                "/metadata",
                "deletionGracePeriodSeconds",
                json!(30),
            ),
        ),
    ];
    let mut all = String::new();
    for (name, pod) in cases {
        writeln!(all, "{name}\n  {}", assessed(&pod)).unwrap();
        let pod = view(&pod);
        let trouble = assess(&pod, "scan", &GracePeriods::default()).unwrap();
        if trouble.so_far() != trouble.sentence() {
            writeln!(all, "  so far: {}", trouble.so_far()).unwrap();
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn healthy_pods_have_no_problem() {
    let sidecar =
        |state: Value| with(pod_with("p", "w", running(), running()), "/status/containerStatuses/1", "state", state);
    let companion = |plugin: Value| {
        let pod = pod_with("p", "w", plugin, running());
        let pod = with(pod, "/spec", "initContainers", json!([{"name": "proxy", "restartPolicy": "Always"}]));
        let status = json!([{"name": "proxy", "restartCount": 9, "state": waiting("CrashLoopBackOff", "")}]);
        with(pod, "/status", "initContainerStatuses", status)
    };
    assert_eq!(assessed(&pod_with("p", "w", running(), running())), "well");
    assert_eq!(assessed(&sidecar(ended(1, "Error"))), "well");
    assert_eq!(
        assessed(&with(sidecar(ended(0, "Completed")), "/status/containerStatuses/1", "restartCount", json!(9))),
        "well"
    );
    assert_eq!(assessed(&companion(running())), "well");
    assert!(assessed(&companion(waiting("PodInitializing", ""))).starts_with("CrashLoop: "));
    // An init container may take as long as it needs.
    let pod = pod_with("p", "w", waiting("PodInitializing", ""), waiting("PodInitializing", ""));
    let pod = with(pod, "/spec", "initContainers", json!([{"name": "prepare"}]));
    let prepares = json!([{"name": "prepare", "restartCount": 0, "state": running()}]);
    assert_eq!(assessed(&with(pod, "/status", "initContainerStatuses", prepares)), "well");
    // A sidecar that does not start or crashes is not a problem.
    assert_eq!(assessed(&sidecar(waiting("ContainerCreating", ""))), "well");
    // The container was restarted twice, as Sonobuoy allows, and is running again.
    assert_eq!(assessed(&pod_with("p", "w", json!({"running": {}, "restartCount": 2}), running())), "well");
    assert!(
        assessed(&pod_with("p", "w", json!({"running": {}, "restartCount": 3}), running())).starts_with("CrashLoop: ")
    );
    assert_eq!(assessed(&json!({"metadata": {"name": "p"}, "spec": {}})), "well");
}

#[test]
fn the_message_of_a_registry_does_not_make_a_timeout_of_a_failure() {
    let pod = pod_with("p", "w", waiting("ErrImagePull", "net/http: request canceled: i/o timeout"), running());
    let sentence = assess(&view(&pod), "scan", &GracePeriods::default()).unwrap().sentence();
    assert!(!plumbline_core::ledger::ErrorRecord::new(sentence).is_timeout());
}

#[test]
fn a_pod_that_is_deleted_may_use_the_time_it_was_given() {
    let pod =
        with(pod_with("p", "w", running(), running()), "/metadata", "deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    let pod = with(pod, "/metadata", "deletionGracePeriodSeconds", json!(45));
    assert_eq!(assess(&view(&pod), "scan", &GracePeriods::default()).unwrap().grace, Duration::from_secs(105));
}
