//! The status of a run on 5,000 nodes. What fits into the annotation is written and read, and
//! `--full` finds the rest.

use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{ProgressUpdate, Status};
use plumbline_dev::ApiDouble;
use plumbline_kubernetes::status::{Pace, PublishOptions, WorkerPods, publish_last};
use plumbline_kubernetes::{Cluster, ConnectOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::bed::Bed;

const NODES: usize = 5000;
const ANNOTATION: &str = "sonobuoy.hept.io/status";
/// The most bytes of all annotations of an object together (apimachinery,
/// `TotalAnnotationSizeLimitB`).
const ALL_ANNOTATIONS: usize = 256 << 10;

/// Two plugins on every node, with node names as long as those of clouds. Of the second plugin, one
/// node failed, and the result of another is missing.
fn status() -> RunStatus {
    let node = |n: usize| format!("ip-10-42-{:03}-{:03}.eu-central-1.compute.internal", n / 250, n % 250);
    let entry = |plugin: &str, n: usize| {
        let (status, result) = match (plugin, n) {
            ("scan", 7) => (EntryStatus::Complete, Some(Status::Failed)),
            ("scan", 8) => (EntryStatus::Failed, Some(Status::Failed)),
            _ => (EntryStatus::Complete, Some(Status::Passed)),
        };
        let progress =
            ProgressUpdate { msg: "every check has ended".to_owned(), total: 40, completed: 40, ..Default::default() };
        PluginStatus {
            plugin: plugin.to_owned(),
            node: node(n),
            status,
            result_status: result,
            progress: Some(Box::new(progress)),
            ..PluginStatus::default()
        }
    };
    let plugins = ["host-facts", "scan"].iter().flat_map(|plugin| (0..NODES).map(move |n| entry(plugin, n)));
    RunStatus { status: RunPhase::Complete, plugins: Some(plugins.collect()), ..RunStatus::default() }
}

#[test]
fn every_node_of_thousands_is_shown_in_full() {
    let (runtime, bed) = (Runtime::new().unwrap(), Bed::new());
    let double = runtime.block_on(ApiDouble::start()).unwrap();
    bed.write("kubeconfig", &double.kubeconfig());
    double.put("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "checks"}}));
    double.put(
        "pods",
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "sonobuoy", "namespace": "checks",
                "labels": {"sonobuoy-component": "aggregator", "component": "sonobuoy"}},
            "spec": {"containers": [{"name": "kube-sonobuoy", "image": "r/plumbline:1"}]},
            "status": {"phase": "Running"},
        }),
    );
    runtime.block_on(async {
        let options = ConnectOptions { kubeconfig: Some(bed.path("kubeconfig")), context: None };
        let options = PublishOptions {
            cluster: Cluster::connect(&options).await.unwrap(),
            namespace: "checks".to_owned(),
            pod: "sonobuoy".to_owned(),
            run: "7f3a9c00-0000-4000-8000-000000000000".parse().unwrap(),
            owner: None,
            workers: WorkerPods::default(),
            pace: Pace::default(),
        };
        publish_last(&options, status()).await.unwrap();
    });
    let pod = double.get("pods", "checks", "sonobuoy").unwrap();
    let annotations = pod["metadata"]["annotations"].as_object().unwrap();
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().unwrap().len()).sum();
    assert!(bytes < ALL_ANNOTATIONS, "{bytes}");
    let short: Value = serde_json::from_str(annotations[ANNOTATION].as_str().unwrap()).unwrap();
    assert!(short["plugins"].as_array().unwrap().len() < NODES, "{}", short["compacted"]);

    let there = ["--kubeconfig", "kubeconfig", "-n", "checks"];
    let plumbline = |args: &[&str]| bed.plumbline(&[args, &there[..]].concat());
    let summary = plumbline(&["status"]).expect(3);
    assert!(summary.out.contains("plumbline status --full -n checks"), "{}", summary.out);
    assert!(summary.out.lines().count() < 20, "{}", summary.out);
    let full = plumbline(&["status", "--full", "-o", "json"]).expect(3);
    let full: Value = serde_json::from_str(&full.out).unwrap();
    let plugins = full["plugins"].as_array().unwrap();
    assert_eq!((plugins.len(), &full["compacted"]), (2 * NODES, &Value::Null));
    assert!(plugins.iter().all(|entry| entry["results"] == 1));
    let of = |result: &str| plugins.iter().filter(|entry| entry["result"] == result).count();
    assert_eq!((of("passed"), of("failed")), (2 * NODES - 2, 2));
    // The table for people has a line for each result.
    let table = plumbline(&["status", "--full"]).expect(3);
    assert!(table.out.lines().filter(|line| line.contains("compute.internal")).count() >= 2 * NODES, "{}", table.err);
}
