//! What `query` and `logs` print, over an in-memory API server.

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::Bed;

/// Creates a cluster with one pod of a run, and writes its kubeconfig to the test directory.
fn cluster(bed: &Bed) -> ApiDouble {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let double = runtime.block_on(ApiDouble::start()).unwrap();
    bed.write("kubeconfig", &double.kubeconfig());
    double.put(
        "pods",
        json!({"metadata": {"namespace": "sonobuoy", "name": "p", "labels": {"sonobuoy-component": "aggregator"}},
            "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Succeeded"}}),
    );
    double.append_log("sonobuoy", "p", "c", "one\ntwo");
    double
}

#[test]
fn query_prints_where_it_is() {
    let bed = Bed::new();
    let double = cluster(&bed);
    double.deny("list", "services");
    bed.write("config.json", r#"{"resources": ["services", "namespaces"], "QPS": 1000}"#);
    let done =
        bed.plumbline(&["query", "--kubeconfig", "kubeconfig", "--config", "config.json", "-d", "out"]).expect(0);
    assert_eq!(done.out, "out\n");
    assert!(done.err.contains("warning: services in namespace `default`: failed to list services"), "{}", done.err);
    assert!(bed.path("out/resources/cluster/core_v1_namespaces.json").exists());
    assert!(bed.path("out/meta/query-time.json").exists());
    let args = ["query", "--kubeconfig", "kubeconfig", "--config", "config.json", "-d", "data", "-o", "json"];
    let summary: Value = serde_json::from_str(&bed.plumbline(&args).expect(0).out).unwrap();
    assert_eq!((&summary["directory"], summary["errors"].is_array()), (&json!("data"), true));
}

#[test]
fn query_writes_where_the_configuration_says() {
    let bed = Bed::new();
    let _double = cluster(&bed);
    for (config, dir) in [
        (r#"{"resources": [], "UUID": "id", "querydir": "there"}"#, "there\n"),
        (r#"{"resources": [], "UUID": "id"}"#, "id\n"),
    ] {
        bed.write("config.json", config);
        let done = bed.plumbline(&["query", "--kubeconfig", "kubeconfig", "--config", "config.json"]).expect(0);
        assert_eq!(done.out, dir);
    }
}

#[test]
fn query_tells_what_is_wrong_with_a_configuration_or_a_cluster() {
    let bed = Bed::new();
    let double = cluster(&bed);
    bed.write("config.json", r#"{"Burst": "many"}"#);
    let done = bed.plumbline(&["query", "--kubeconfig", "kubeconfig", "--config", "config.json"]).expect(2);
    assert!(done.err.contains("`Burst` must be a whole number"), "{}", done.err);
    drop(double);
    let done = bed.plumbline(&["query", "--kubeconfig", "kubeconfig", "-d", "out"]).expect(4);
    assert!(done.err.contains("error: failed to query the cluster"), "{}", done.err);
    assert!(!bed.path("out").exists());
}

#[test]
fn logs_come_with_a_header_or_with_prefixes() {
    let bed = Bed::new();
    let _double = cluster(&bed);
    let done = bed.plumbline(&["logs", "--kubeconfig", "kubeconfig"]).expect(0);
    assert_eq!(done.out, "namespace=\"sonobuoy\" pod=\"p\" container=\"c\"\none\ntwo\n");
    let done = bed.plumbline(&["logs", "--kubeconfig", "kubeconfig", "-f", "-p", "sonobuoy"]).expect(0);
    assert_eq!(done.out, "[p/c] one\n[p/c] two\n");
    let done = bed.plumbline(&["logs", "--kubeconfig", "kubeconfig", "-n", "nowhere"]).expect(4);
    assert!(done.err.contains("cause: found no pod in namespace `nowhere`"), "{}", done.err);
}
