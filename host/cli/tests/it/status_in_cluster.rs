//! `status` and `wait` for runs in a cluster, over an API double.

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::bed::{Bed, Done, wait_for};
use crate::compat::sonobuoy;

const ANNOTATION: &str = "sonobuoy.hept.io/status";

/// A cluster with one namespace, `checks`, and a kubeconfig in the test's directory.
struct InCluster {
    bed: Bed,
    double: ApiDouble,
    _runtime: Runtime,
}

impl InCluster {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let double = runtime.block_on(ApiDouble::start()).unwrap();
        let bed = Bed::new();
        bed.write("kubeconfig", &double.kubeconfig());
        double.put("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "checks"}}));
        Self { bed, double, _runtime: runtime }
    }

    /// Creates the aggregator's pod, with a status if there is one.
    fn aggregator(&self, phase: &str, status: Option<Value>) {
        let annotations = status.map_or_else(|| json!({}), |status| json!({ANNOTATION: status.to_string()}));
        self.double.put(
            "pods",
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "sonobuoy", "namespace": "checks", "annotations": annotations,
                    "labels": {"sonobuoy-component": "aggregator", "component": "sonobuoy"}},
                "spec": {"containers": [{"name": "kube-sonobuoy", "image": "r/plumbline:1"}]},
                "status": {"phase": phase},
            }),
        );
    }

    fn publish_status(&self, status: Value) {
        self.double.update("pods", "checks", "sonobuoy", |pod| {
            pod["metadata"]["annotations"] = json!({ANNOTATION: status.to_string()});
        });
    }

    fn args<'a>(&self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--kubeconfig", "kubeconfig", "-n", "checks"]].concat()
    }

    fn plumbline(&self, args: &[&str]) -> Done {
        self.bed.plumbline(&self.args(args))
    }

    /// The output, without the time that pods have waited.
    fn shown(&self, done: &Done) -> String {
        (0..60)
            .fold(done.shown(&self.bed), |text, n| text.replace(&format!(" waiting for {n} s:"), " waiting for [N] s:"))
    }
}

fn status(phase: &str, plugins: Value) -> Value {
    let now = jiff::Timestamp::now();
    let tar = if phase == "complete" {
        json!({"name": "202611201300_plumbline_7f3a9c.tar.gz", "created": "2026-11-20T13:00:00Z", "sha256": "00", "size": 24576})
    } else {
        json!({"name": "", "created": "0001-01-01T00:00:00Z", "sha256": "", "size": 0})
    };
    json!({"status": phase, "run": "7f3a9c00-0000-4000-8000-000000000000", "heartbeat": now, "plugins": plugins, "tar-info": tar})
}

fn suite(state: &str, completed: u32, failures: &[&str], result: &str) -> Value {
    json!({"plugin": "suite", "node": "global", "status": state, "result-status": result, "result-counts": null,
        "last-heartbeat": jiff::Timestamp::now(),
        "progress": {"timestamp": jiff::Timestamp::now(), "total": 3, "completed": completed, "failures": failures}})
}

fn sweep(node: &str, state: &str, result: &str) -> Value {
    json!({"plugin": "sweep", "node": node, "status": state, "result-status": result, "result-counts": null})
}

#[test]
fn a_running_run_is_shown_in_every_format() {
    let cluster = InCluster::new();
    let plugins =
        json!([suite("running", 1, &["a test"], ""), sweep("n1", "complete", ""), sweep("n2", "running", "")]);
    cluster.aggregator("Running", Some(status("running", plugins)));
    cluster.double.put(
        "pods",
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "sweep-2", "namespace": "checks", "labels": {"sonobuoy-component": "plugin", "sonobuoy-plugin": "sweep"}},
            "spec": {"nodeName": "n2", "containers": [{"name": "plugin", "image": "r/i:1"}]},
            "status": {"phase": "Pending", "containerStatuses": [{"name": "plugin", "image": "r/i:1", "imageID": "", "ready": false,
                "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "back-off"}}}]},
        }),
    );
    insta::assert_snapshot!("summary", cluster.shown(&cluster.plumbline(&["status"]).expect(0)));
    insta::assert_snapshot!("all", cluster.shown(&cluster.plumbline(&["status", "--show-all", "--json"]).expect(0)));
    insta::assert_snapshot!("wide", cluster.shown(&cluster.plumbline(&["status", "-o", "wide"]).expect(0)));
    let line = cluster.plumbline(&["status", "--json"]).expect(0).out;
    assert_eq!(line.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["plugins"][0]["plugin"], "suite");
    let data: Value = serde_json::from_str(&cluster.plumbline(&["status", "-o", "json"]).expect(0).out).unwrap();
    assert_eq!(data["plugins"][0]["progress"]["passed-or-skipped"], 1);
    assert_eq!((&data["lost"], &data["waiting"][0]["reason"]), (&json!(false), &json!("ImagePullBackOff")));
    assert!(cluster.plumbline(&["status", "-o", "yaml"]).expect(0).out.contains("passed-or-skipped: 1"));
}

#[test]
fn the_verdict_is_the_exit_code_unless_scripts_want_the_old_one() {
    let cluster = InCluster::new();
    cluster.aggregator("Running", Some(status("complete", json!([suite("complete", 2, &["a test"], "failed")]))));
    insta::assert_snapshot!("ended", cluster.shown(&cluster.plumbline(&["status"]).expect(1)));
    cluster.plumbline(&["status", "--exit-code", "compat"]).expect(0);
    cluster.plumbline(&["wait"]).expect(1);
    cluster.plumbline(&["wait", "--exit-code", "compat"]).expect(0);
    cluster.publish_status(json!({"status": "failed", "plugins": []}));
    cluster.plumbline(&["status"]).expect(4);
    cluster.plumbline(&["status", "--exit-code", "compat"]).expect(1);
    let mut old = status("running", json!([suite("running", 1, &[], "")]));
    old["heartbeat"] = json!("2026-01-01T00:00:00Z");
    cluster.publish_status(old);
    let done = cluster.plumbline(&["status"]).expect(4);
    assert!(done.out.contains("has sent no heartbeat for"), "{}", done.out);
    cluster.plumbline(&["status", "--exit-code", "compat"]).expect(0);
}

#[test]
fn scripts_find_the_words_of_sonobuoy() {
    let cluster = InCluster::new();
    cluster.aggregator("Running", None);
    for (phase, words) in [
        ("running", "Sonobuoy is still running"),
        ("post-processing", "Sonobuoy plugins have completed"),
        ("complete", "Sonobuoy has completed"),
        ("failed", "Sonobuoy has failed"),
    ] {
        cluster.publish_status(status(phase, json!([suite("complete", 2, &[], "passed")])));
        let shown = sonobuoy(&cluster.bed, &cluster.args(&["status"]));
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains(words) && !shown.contains("`plumbline "), "{phase}: {shown}");
        assert!(!cluster.plumbline(&["status"]).out.contains("Sonobuoy"), "{phase}");
    }
    let version = sonobuoy(&cluster.bed, &["version", "--kubeconfig", "kubeconfig"]);
    assert!(String::from_utf8(version.stdout).unwrap().contains("\nAPI Version: v1."), "the server's version");
}

#[test]
fn a_missing_status_has_a_reason() {
    let cluster = InCluster::new();
    let none = |cluster: &InCluster, code: i32, compat: i32| {
        let done = cluster.plumbline(&["status"]).expect(code);
        cluster.plumbline(&["status", "--exit-code", "compat"]).expect(compat);
        cluster.shown(&done)
    };
    let mut outputs = vec![none(&cluster, 2, 1)];
    cluster.aggregator("Pending", None);
    cluster.double.put("events", json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "checks"}, "reason": "Scheduled",
        "involvedObject": {"kind": "Pod", "name": "sonobuoy", "namespace": "checks"}, "message": "assigned to n1",
    }));
    outputs.push(none(&cluster, 0, 0));
    cluster.double.update("pods", "checks", "sonobuoy", |pod| {
        pod["status"]["containerStatuses"] = json!([{"name": "kube-sonobuoy", "image": "r/plumbline:1", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]);
    });
    outputs.push(none(&cluster, 4, 1));
    cluster.aggregator("Running", None);
    outputs.push(none(&cluster, 0, 0));
    cluster.aggregator("Failed", Some(status("running", json!([suite("running", 1, &[], "")]))));
    outputs.push(none(&cluster, 4, 1));
    insta::assert_snapshot!(outputs.join("\n"));
    cluster.bed.plumbline(&["status", "--kubeconfig", "nowhere"]).expect(4);
}

#[test]
fn a_run_is_waited_for_until_it_ends() {
    let cluster = InCluster::new();
    cluster.aggregator("Pending", None);
    let wait = cluster.bed.start("wait", &cluster.args(&["wait"]));
    wait_for("the pod", || wait.err().contains("has not started"));
    cluster.aggregator(
        "Running",
        Some(status("running", json!([suite("running", 0, &[], ""), sweep("n1", "running", "")]))),
    );
    wait_for("the view", || wait.err().contains("namespace checks"));
    cluster
        .publish_status(status("running", json!([suite("running", 1, &["a test"], ""), sweep("n1", "running", "")])));
    wait_for("progress", || wait.err().contains("2/3"));
    cluster.double.drop_watches();
    cluster.publish_status(status(
        "post-processing",
        json!([suite("complete", 2, &["a test"], ""), sweep("n1", "complete", "")]),
    ));
    wait_for("the results", || wait.err().contains("post-processing"));
    cluster.publish_status(status(
        "complete",
        json!([suite("complete", 2, &["a test"], "failed"), sweep("n1", "complete", "passed")]),
    ));
    insta::assert_snapshot!("waited", cluster.shown(&wait.wait().expect(1)));
}

#[test]
fn a_pod_that_goes_is_the_end_of_waiting() {
    let cluster = InCluster::new();
    cluster.aggregator("Running", Some(status("running", json!([suite("running", 0, &[], "")]))));
    let wait = cluster.bed.start("wait", &cluster.args(&["wait", "--wait=5m", "--wait-output", "silent"]));
    wait_for("the watch", || cluster.double.requests().iter().any(|request| request.query.contains("watch=true")));
    cluster.double.remove("pods", "checks", "sonobuoy");
    let done = wait.wait().expect(4);
    assert!(
        done.err.contains("the aggregator stopped before the run finished") && done.err.contains("is gone"),
        "{}",
        done.err
    );
}

#[test]
fn waiting_has_its_own_time_and_can_be_interrupted() {
    let cluster = InCluster::new();
    cluster.plumbline(&["wait"]).expect(2);
    cluster.aggregator("Running", Some(status("running", json!([suite("running", 0, &[], "")]))));
    let done = cluster.plumbline(&["wait", "--timeout", "1s"]).expect(3);
    assert!(done.err.contains("has not finished within 1 s"), "{}", done.err);
    cluster.plumbline(&["wait", "--timeout", "1s", "--exit-code", "compat"]).expect(1);
    // An aggregator that does not answer is reported instead of the timeout, because it is the more
    // serious problem.
    let mut old = status("running", json!([suite("running", 0, &[], "")]));
    old["heartbeat"] = json!(jiff::Timestamp::now() - jiff::SignedDuration::from_mins(10));
    cluster.publish_status(old);
    let done = cluster.plumbline(&["wait", "--timeout", "1s"]).expect(4);
    assert!(done.err.contains("its aggregator has sent no heartbeat recently"), "{}", done.err);
    let wait = cluster.bed.start("wait", &cluster.args(&["wait"]));
    wait_for("the view", || wait.err().contains("namespace checks"));
    wait.signal("INT");
    let done = wait.wait().expect(130);
    assert!(done.err.contains("the run continues"), "{}", done.err);
}

#[test]
fn a_result_that_did_not_arrive_says_why_wherever_one_looks() {
    let cluster = InCluster::new();
    let entry = |node: &str, state: &str, result: &str, reason: &str| json!({"plugin": "sweep", "node": node, "status": state, "result-status": result, "reason": reason});
    let memory = "container `main` of pod `p1` was killed because it used more memory than its limit of 64Mi";
    cluster.aggregator("Running", Some(status("running", json!([entry("n1", "running", "", memory)]))));
    let done = cluster.plumbline(&["status"]).expect(0);
    assert!(done.out.contains(&format!("sweep on n1: {memory}\n")), "{}", done.out);
    let plugins = json!([
        entry("n1", "failed", "failed", memory),
        entry("n2", "timed_out", "timeout", "timeout waiting for results"),
    ]);
    cluster.publish_status(status("complete", plugins));
    for command in ["status", "wait"] {
        let done = cluster.plumbline(&[command]).expect(3);
        assert!(done.out.contains("2 of 2 results did not arrive, 1 of them timed out"), "{}", done.out);
        assert!(done.out.contains("timed_out   timeout"), "{}", done.out);
        assert!(done.out.contains(&format!("sweep on n1: {memory}\n")), "{}", done.out);
    }
    let data: Value = serde_json::from_str(&cluster.plumbline(&["status", "-o", "json"]).expect(3).out).unwrap();
    assert_eq!((&data["plugins"][0]["reason"], &data["plugins"][1]["status"]), (&json!(memory), &json!("timed_out")));
}
