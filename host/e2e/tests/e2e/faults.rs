//! Tests of problems that prevent results: each becomes an error result, and partial results are
//! kept.

use std::fs;
use std::pin::pin;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::plugin::Plugin;
use crate::settings::loudly;

/// Writes a configuration with short grace periods, because the tests only check that they end.
pub(crate) fn impatient(bed: &Bed) -> &'static str {
    let graces = json!({"ImagePull": 5, "Unschedulable": 5, "PodGone": 5, "NoResult": 10, "NoPod": 20, "NodeGone": 20});
    fs::write(bed.path("config.json"), json!({"Plumbline": {"Graces": graces}}).to_string()).unwrap();
    "config.json"
}

/// Returns the only error of a plugin in the archive.
pub(crate) fn error(bed: &Bed, archive: &str, plugin: &str) -> Value {
    let tree = bed.plumbline(&["results", archive, "-p", plugin, "-o", "json"]).json();
    let tree = tree.as_array().map_or(&tree, |all| &all[0]);
    tree["items"][0].clone()
}

pub(crate) fn retrieve(bed: &Bed) -> String {
    bed.command("retrieve", &[]).expect(0).out.lines().next().unwrap().to_owned()
}

#[test]
fn images_that_are_not_there_and_nodes_that_do_not_fit_are_named() {
    let Some(bed) = Bed::new("named") else { return };
    let config = impatient(&bed);
    let plugins = [
        Plugin::job("no-image").image("localhost/there-is-no-such-image:1"),
        Plugin::job("no-node").on("no-node-has", "this"),
        Plugin::job("good"),
    ];
    bed.run(&plugins, &["--config", config, "--wait"]).expect(3);
    let archive = retrieve(&bed);
    bed.command("wait", &[]).expect(3);
    bed.plumbline(&["results", &archive]).expect(3);

    let no_image = error(&bed, &archive, "no-image");
    let sentence = no_image["name"].as_str().unwrap();
    assert!(sentence.contains("localhost/there-is-no-such-image:1") && sentence.contains("pulled"), "{sentence}");
    assert!(!no_image["details"]["events"].is_null() && !no_image["details"]["pod"].is_null(), "{no_image}");
    let no_node = error(&bed, &archive, "no-node");
    assert!(no_node["name"].as_str().unwrap().contains("could not be scheduled"), "{no_node}");
    assert_eq!(error(&bed, &archive, "good")["status"], "passed");
}

/// Waits for a pod of the plugin.
fn first_pod(bed: &Bed, plugin: &str) -> Pod {
    let labelled = watcher::Config::default().labels(&format!("sonobuoy-plugin={plugin}"));
    bed.ask(async {
        let mut seen = pin!(watcher(bed.api::<Pod>(), labelled).applied_objects());
        seen.next().await.unwrap()
    })
}

/// Returns the restart policy of the worker, if it is an init container of the pod.
fn worker_of(pod: &Pod) -> Option<&str> {
    let init = pod.spec.as_ref()?.init_containers.as_deref().unwrap_or_default();
    init.iter().find(|container| container.name == "sonobuoy-worker")?.restart_policy.as_deref()
}

#[test]
fn a_pod_that_is_deleted_is_an_error_and_not_a_timeout() {
    let Some(bed) = Bed::new("deleted") else { return };
    let config = impatient(&bed);
    bed.run(&[Plugin::job("hangs").args(&["--outcome=hang"])], &["--config", config]).expect(0);
    let (pods, name) = (bed.api::<Pod>(), first_pod(&bed, "hangs").metadata.name.unwrap());
    let pod = bed.wait_for_pod(&name, |pod| crate::bed::phase(pod) == "Running");
    assert_eq!(worker_of(&pod), Some("Always"), "the worker is a native sidecar: {pod:?}");
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    bed.ask(pods.delete(&name, &now));
    bed.command("wait", &["--timeout", "3m"]).expect(3);
    let error = error(&bed, &retrieve(&bed), "hangs");
    assert_eq!(error["status"], "failed", "{error}");
    assert!(error["name"].as_str().unwrap().contains(&name), "{error}");
}

#[test]
fn a_plugin_without_a_done_file_is_sent_and_one_that_ran_out_of_time_leaves_what_it_had() {
    let Some(bed) = Bed::new("late") else { return };
    let plugins =
        [Plugin::job("quiet").format("raw").args(&["--no-done"]), Plugin::job("endless").args(&["--outcome=hang"])];
    bed.run(&plugins, &["--timeout", "40s", "--wait"]).expect(3);
    let archive = retrieve(&bed);
    // No module interprets a raw file.
    assert_eq!(error(&bed, &archive, "quiet")["status"], "not-read");
    assert_eq!(error(&bed, &archive, "endless")["status"], "timeout");
}

#[test]
fn two_runs_at_the_same_time_and_no_third_in_the_namespace_of_the_first() {
    let (Some(one), Some(two)) = (Bed::new("one"), Bed::new("two")) else { return };
    let slow = Plugin::job("slow").args(&["--after=15s"]);
    one.run(std::slice::from_ref(&slow), &["--native-sidecar", "never"]).expect(0);
    // Without native sidecars, the worker is a container next to the plugin.
    let pod = first_pod(&one, "slow");
    let containers = pod.spec.as_ref().map(|spec| spec.containers.len());
    assert_eq!((worker_of(&pod), containers), (None, Some(2)), "{pod:?}");
    let refused = one.run(std::slice::from_ref(&slow), &[]).expect(4);
    assert!(refused.err.contains("plumbline delete"), "{refused:?}");
    two.run(&[Plugin::job("quick")], &["--wait"]).expect(0);
    two.command("delete", &["--wait", "--yes"]).expect(0);
    one.command("wait", &["--timeout", "5m"]).expect(0);
    assert!(one.exists() && !two.exists());
}

/// Returns the process whose command line contains `word` and that has this variable, if the
/// processes of nodes are visible from here.
pub(crate) fn process(word: &str, variable: &str) -> Option<u32> {
    find(|read| read("cmdline").contains(word) && read("environ").split('\0').any(|one| one == variable))
}

/// Returns the process of this program that has this argument.
pub(crate) fn find_process(program: &str, argument: &str) -> Option<u32> {
    find(|read| read("comm").trim_end() == program && read("cmdline").split('\0').any(|one| one == argument))
}

/// Returns a process whose files in `/proc` meet a condition.
fn find(is_it: impl Fn(&dyn Fn(&str) -> String) -> bool) -> Option<u32> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let read =
            |file: &str| String::from_utf8_lossy(&fs::read(entry.path().join(file)).unwrap_or_default()).into_owned();
        is_it(&read).then_some(pid)
    })
}

pub(crate) fn signal(pid: u32, name: &str) {
    assert!(std::process::Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_worker_that_is_frozen_is_reported_and_then_lost() {
    let Some(bed) = Bed::new("frozen") else { return };
    // A heartbeat is sent at least every 36 s.
    let graces = json!({"Silent": 45, "SilentLost": 15});
    fs::write(bed.path("config.json"), json!({"Plumbline": {"Graces": graces}}).to_string()).unwrap();
    bed.run(&[Plugin::job("hangs").args(&["--outcome=hang"])], &["--config", "config.json"]).expect(0);
    let status_contains = |pod: &Pod, what: &str| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        status.is_some_and(|status| status.contains(what))
    };
    bed.wait_for_pod("sonobuoy", |pod| status_contains(pod, "last-heartbeat"));
    let Some(worker) = process("worker", &format!("SONOBUOY_NS={}", bed.namespace())) else {
        loudly("SKIPPED frozen: the processes of the cluster's nodes are not seen from here");
        return;
    };
    let frozen = std::time::Instant::now();
    signal(worker, "-STOP");
    bed.wait_for_pod("sonobuoy", |pod| status_contains(pod, "has sent no heartbeat for more than 45s"));
    loudly(&format!("frozen: the worker was reported {} s after it was stopped", frozen.elapsed().as_secs()));
    let status = bed.command("status", &[]).expect(0).out;
    assert!(status.contains("hangs: the worker of pod"), "{status}");
    let done = bed.command("wait", &["--timeout", "5m"]).expect(3);
    loudly(&format!("frozen: the run ended {} s after the worker was stopped", frozen.elapsed().as_secs()));
    // Let its pod end.
    signal(worker, "-CONT");
    assert!(done.out.contains("has sent no heartbeat for more than 1m"), "{done:?}");
    let error = error(&bed, &retrieve(&bed), "hangs");
    assert_eq!((&error["status"], &error["details"]["reason"]), (&json!("failed"), &json!("Silent")), "{error}");
}

#[test]
fn a_killed_aggregator_resumes() {
    let Some(bed) = Bed::new("killed") else { return };
    bed.run(&[Plugin::job("slow").args(&["--after=20s"])], &[]).expect(0);
    bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        status.is_some_and(|status| status.contains("\"running\",\"result"))
    });
    let Some(pid) = process("aggregator", &format!("SONOBUOY_NAMESPACE={}", bed.namespace())) else {
        loudly("SKIPPED killed: the processes of the cluster's nodes are not seen from here");
        return;
    };
    signal(pid, "-9");
    bed.command("wait", &["--timeout", "5m"]).expect(0);
    let restarts = |pod: &Pod| {
        let status = pod.status.as_ref().and_then(|status| status.container_statuses.clone()).unwrap_or_default();
        status.iter().map(|container| container.restart_count).sum::<i32>()
    };
    assert_eq!(restarts(&bed.wait_for_pod("sonobuoy", |_| true)), 1);
    assert_eq!(error(&bed, &retrieve(&bed), "slow")["status"], "passed");
}
