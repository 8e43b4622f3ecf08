//! A test of a kubelet that is frozen in the middle of a suite.

use std::fs;
use std::time::Instant;

use k8s_openapi::api::core::v1::Node;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use super::cut::VICTIM;
use super::{has_nodes, is_ready};
use crate::bed::Bed;
use crate::faults::{find_process, retrieve, signal};
use crate::settings::loudly;

/// A kubelet that does not run until this is dropped.
struct Frozen(u32);

impl Frozen {
    fn new(kubelet: u32) -> Self {
        signal(kubelet, "-STOP");
        Self(kubelet)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal(self.0, "-CONT");
    }
}

/// How long a test of the suite takes. All of them take longer than the cluster needs to notice.
const TIME: &str = "8s";

/// Writes a plugin that runs on a node and whose failures name another one.
fn suite(bed: &Bed, here: &str, victim: &str) {
    let env = [
        ("RESULTS_DIR", "/tmp/sonobuoy/results"),
        ("FAKE_E2E_LIST_VERSION", "v1.37.2"),
        ("FAKE_E2E_TEST_TIME", TIME),
        ("FAKE_E2E_FAIL", "."),
        ("FAKE_E2E_REASON", &format!("pod on node \"{victim}\" did not become ready")),
        ("E2E_FOCUS", r"\[sig-node\] Pods should .*\[Conformance\]"),
        ("E2E_EXTRA_ARGS", "--progress-report-url=http://localhost:8099/progress"),
    ];
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let definition = json!({
        "sonobuoy-config": {"driver": "Job", "plugin-name": "suite", "result-format": "junit"},
        "podSpec": {"nodeSelector": {"kubernetes.io/hostname": here}, "restartPolicy": "Never", "containers": []},
        "spec": {
            "name": "plugin",
            "image": bed.image(),
            "imagePullPolicy": "IfNotPresent",
            "command": ["/plumbline-dev", "suite"],
            "env": env,
            "volumeMounts": [{"name": "results", "mountPath": "/tmp/sonobuoy/results"}],
        },
    });
    fs::write(bed.path("suite.yaml"), definition.to_string()).unwrap();
}

#[test]
fn a_frozen_kubelet_is_shown_next_to_the_failures() {
    let Some(bed) = Bed::alone("kubelet") else { return };
    let Some(bed) = has_nodes(bed, "kubelet", 2) else { return };
    let nodes = bed.nodes();
    let (first, victim) = (&nodes[0], &nodes[VICTIM - 1]);
    let Some(kubelet) = find_process("kubelet", &format!("--hostname-override={victim}")) else {
        loudly("SKIPPED kubelet: the processes of the cluster's nodes are not seen from here");
        return;
    };
    suite(&bed, first, victim);
    let here = format!("kubernetes.io/hostname:{first}");
    bed.run(&[], &["-p", "suite.yaml", "--aggregator-node-selector", &here]).expect(0);
    // The first test has failed.
    bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        status.is_some_and(|status| status.contains("FAILED"))
    });
    let (frozen, began) = (Frozen::new(kubelet), Instant::now());
    bed.command("wait", &["--timeout", "5m"]).expect(1);
    loudly(&format!("kubelet: the run ended {} s after the kubelet was frozen", began.elapsed().as_secs()));
    let archive = retrieve(&bed);
    drop(frozen);

    let tree = bed.plumbline(&["results", &archive, "-p", "suite", "-o", "json"]).json();
    let events = tree[0]["cluster-events"].as_array().unwrap_or_else(|| panic!("no events: {tree:#}"));
    let event = &events[0];
    let sentence = event["sentence"].as_str().unwrap_or_default();
    loudly(&format!("kubelet: {sentence}"));
    assert_eq!(
        (&event["kind"], &event["name"], &event["node"]),
        (&json!("node-condition"), &json!("Ready"), &json!(victim))
    );
    assert!(
        sentence.starts_with(&format!("node {victim} was not ready from")) && sentence.contains("Unknown"),
        "{sentence}"
    );
    let failures = event["tests"].as_array().map_or(0, Vec::len);
    assert!(failures >= 3 && sentence.contains(&format!("these {failures} failures")), "{event:#}");
    let report = bed.plumbline(&["results", &archive, "-p", "suite"]).expect(1).out;
    assert!(report.contains("Cluster events near failures:") && report.contains(sentence), "{report}");
    let page = bed.plumbline(&["results", &archive, "-p", "suite", "-o", "html"]).expect(1).out;
    assert!(page.contains(&format!("node {victim} was not ready from")), "the page names the node");
    bed.ask(await_condition(bed.cluster_api::<Node>(), victim, is_ready));
}
