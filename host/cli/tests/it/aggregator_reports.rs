//! What the role `aggregator` reports about a run: events on its pod, and metrics.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::aggregator_role::{ARGS, Pod};
use crate::bed::{Done, wait_for};
use crate::carried_checks::decoded;
use crate::telemetry::{check_with_promtool, scrape};

/// The reasons of the events that every run has, in order.
const STORY: [&str; 3] = ["RunStarted", "PluginFinished", "RunFinished"];

/// Waits until the aggregator has created the pod of the plugin `smoke`, and returns it.
fn plugin_pod(pod: &Pod) -> Value {
    let created = || {
        let pods = pod.double.list("pods");
        pods.into_iter().find(|pod| pod["metadata"]["name"].as_str().unwrap().starts_with("sonobuoy-smoke-job-"))
    };
    wait_for("the plugin's pod", || created().is_some());
    created().unwrap()
}

/// Runs the worker of a plugin's pod with the variables that a kubelet sets, and with a result.
fn work(pod: &Pod, plugin: &Value) -> Done {
    let results = pod.bed.path("results");
    let out = pod.bed.write("results/out.xml", "<testsuite name='s'><testcase name='t'/></testsuite>");
    pod.bed.write("results/done", out.to_str().unwrap());
    // A sidecar would stay.
    let mut command = pod.bed.command(&["worker", "global", "--sleep", "0"]);
    for variable in plugin["spec"]["initContainers"][0]["env"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        let reference = &variable["valueFrom"]["secretKeyRef"];
        if let Some(value) = variable["value"].as_str() {
            command.env(name, value);
        } else if let (Some(secret), Some(key)) = (reference["name"].as_str(), reference["key"].as_str()) {
            let secret = pod.double.get("secrets", "checks", secret).unwrap();
            let value = decoded(secret["data"][key].as_str().unwrap());
            command.env(name, String::from_utf8(value).unwrap());
        }
    }
    command.env("RESULTS_DIR", &results).env("SONOBUOY_RESULTS_DIR", &results);
    Done::of(command)
}

#[test]
fn events_on_the_pod_and_metrics_show_what_a_run_does() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let pod = Pod::advertising("", &json!({"Telemetry": {"MetricsPort": port}}));
    pod.bed.write(
        "plugins.d/smoke.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: smoke, result-format: junit}\nspec: {name: plugin, image: r/i:1}\n",
    );
    let mut command = pod.bed.command(&ARGS);
    command.env("SONOBUOY_NAMESPACE", "checks").env("SONOBUOY_POD", "sonobuoy");
    command.env("SONOBUOY_ADVERTISE_IP", "127.0.0.1");
    let running = pod.bed.start_command("aggregator", command);
    let plugin = plugin_pod(&pod);
    wait_for("the metrics of a running plugin", || {
        let answer = scrape(&address, "metrics");
        answer.is_some_and(|answer| answer.contains("plumbline_plugins{state=\"running\"} 1\n"))
    });
    work(&pod, &plugin).expect(0);
    let name = plugin["metadata"]["name"].as_str().unwrap();
    let ended = json!({"name": "plugin", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    let status = json!({"phase": "Running", "containerStatuses": [ended]});
    assert!(pod.double.update("pods", "checks", name, |pod| pod["status"] = status));
    wait_for("the end of the run", || running.err().contains("this pod keeps running"));

    // `kubectl describe pod` selects events by these fields.
    let own = pod.double.get("pods", "checks", "sonobuoy").unwrap();
    let mut events = pod.double.list("events");
    events.retain(|event| {
        let about = &event["involvedObject"];
        let (kind, name) = (&about["kind"], &about["name"]);
        (kind, name, &about["namespace"], &about["uid"])
            == (&json!("Pod"), &json!("sonobuoy"), &json!("checks"), &own["metadata"]["uid"])
    });
    // Their names are in the order of their times.
    events.retain(|event| STORY.iter().any(|reason| event["reason"] == *reason));
    let reasons: Vec<&str> = events.iter().map(|event| event["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, STORY, "{events:#?}");
    assert!(events.iter().all(|event| event["type"] == "Normal"), "{events:#?}");
    let messages: Vec<&str> = events.iter().map(|event| event["message"].as_str().unwrap()).collect();
    assert_eq!(messages[0], "The run started: plugins 1, expected results 1");
    assert!(messages[1].starts_with("Plugin `smoke` finished after "), "{messages:?}");
    let archive = pod.bed.archives()[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert!(messages[2].starts_with("The run finished: verdict passed"), "{messages:?}");
    assert!(messages[2].ends_with(&format!("; archive {archive}")), "{messages:?}");

    // The last state is served until the pod is asked to stop.
    let answer = scrape(&address, "metrics").unwrap();
    let (_, metrics) = answer.split_once("\r\n\r\n").unwrap();
    for line in [
        "plumbline_run_verdict{verdict=\"passed\"} 1\n",
        "plumbline_plugins{state=\"complete\"} 1\n",
        "plumbline_results{plugin=\"smoke\",state=\"received\"} 1\n",
        "plumbline_uploads_total{plugin=\"smoke\",outcome=\"stored\"} 1\n",
        "plumbline_kubernetes_requests_total{code=\"201\"} ",
    ] {
        assert!(metrics.contains(line), "no line `{line}` in:\n{metrics}");
    }
    check_with_promtool(metrics);
    running.signal("TERM");
    running.wait().expect(0);
    assert_eq!(scrape(&address, "metrics"), None);
}
