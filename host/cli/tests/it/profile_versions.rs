//! Profiles whose version the cluster decides.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};

const CRD: &str = "gates.toys.example.org";
const ANNOTATION: &str = "toys.example.org/bundle-version";

const PLUGIN: &str = "\
sonobuoy-config: {driver: Job, plugin-name: gates, result-format: junit, result-files: [junit.xml]}
spec: {name: suite, image: r.example/gates:1, command: [/run.sh]}
";

const PROFILE: &str = "\
name: gates
title: Gates
version: {crd: gates.toys.example.org, annotation: toys.example.org/bundle-version}
local: {command: [./run.sh]}
options:
- {name: kubeconfig, help: Cluster to test, type: path, env: KUBECONFIG}
modes:
- {name: full, description: All tests, default: true, required: 'lists/required-{version}.txt'}
tests: 'lists/tests-{version}.txt'
";

const RUN: &str =
    "#!/bin/sh\necho \"<testsuite name='g'><testcase name='opens'/></testsuite>\" >\"$RESULTS_DIR/junit.xml\"\n";

/// A bundle with lists for v1.6.1, and a cluster.
struct Gates {
    bed: Bed,
    double: ApiDouble,
}

impl Gates {
    async fn new() -> Self {
        let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
        bed.write("gates/plugin.yaml", PLUGIN);
        bed.write("gates/profile.yaml", PROFILE);
        bed.write("gates/lists/required-v1.6.1.txt", "opens\n");
        bed.write("gates/lists/tests-v1.6.1.txt", "opens\ncloses\n");
        let script = bed.write("gates/run.sh", RUN);
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        bed.write("kubeconfig", &double.kubeconfig());
        double.add_resource(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            false,
        );
        Self { bed, double }
    }

    /// Installs the definition with these annotations.
    fn install(&self, annotations: &Value) {
        let metadata = json!({"name": CRD, "annotations": annotations});
        let object =
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata});
        self.double.put("customresourcedefinitions", object);
    }

    fn plumbline(&self, args: &[&str]) -> Done {
        tokio::task::block_in_place(|| self.bed.plumbline(args))
    }

    fn in_cluster(&self) -> Done {
        let kubeconfig = self.bed.path("kubeconfig");
        self.plumbline(&["conformance", "run", "./gates", "--wait=0", "--kubeconfig", kubeconfig.to_str().unwrap()])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_the_cluster_selects_the_required_tests() {
    let gates = Gates::new().await;
    gates.install(&json!({ANNOTATION: "v1.6.1"}));
    let done = gates.in_cluster().expect(0);
    assert!(done.err.contains("profile `gates`: Gates v1.6.1, mode `full`, 1 required test"), "{}", done.err);
    let plugins = gates.double.get("configmaps", "sonobuoy", "sonobuoy-plugins-cm").unwrap();
    assert!(plugins["data"]["plugin-0.yaml"].as_str().unwrap().contains("REQUIRED-001"));
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_the_kubeconfig_of_the_suite_counts() {
    let gates = Gates::new().await;
    gates.install(&json!({ANNOTATION: "v1.6.1"}));
    let run = ["conformance", "run", "./gates", "--local", "--dir", "out", "--set", "kubeconfig=kubeconfig"];
    let done = gates.plumbline(&run).expect(0);
    assert!(done.err.contains("Gates v1.6.1"), "{}", done.err);
    // Without the option, it is the kubeconfig of the user, who has none.
    let done = gates.plumbline(&run[..6]).expect(4);
    assert!(done.err.contains("failed to find the version of profile `gates`"), "{}", done.err);
    assert!(done.err.contains("failed to find a cluster"), "{}", done.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_without_a_version_whose_tests_are_known() {
    let gates = Gates::new().await;
    let fails = |code: i32, parts: &[&str]| {
        let done = gates.in_cluster().expect(code);
        for part in parts {
            assert!(done.err.contains(part), "{part}: {}", done.err);
        }
        assert!(gates.double.list("configmaps").is_empty());
    };
    let read = "failed to read custom resource definition `gates.toys.example.org`";
    fails(4, &["failed to find the version of profile `gates`", read, "no such definition", "install the custom"]);
    gates.install(&json!({"other": "v1.6.1"}));
    fails(4, &[read, "has no annotation `toys.example.org/bundle-version`", "install"]);
    gates.install(&json!({ANNOTATION: "../x"}));
    fails(4, &["annotation `toys.example.org/bundle-version` of custom resource", "`../x` is not a version"]);
    gates.install(&json!({ANNOTATION: "v1.7.0"}));
    fails(2, &["profile `gates` has no list of tests `lists/required-v1.7.0.txt`"]);
    gates.double.deny("get", "customresourcedefinitions");
    fails(4, &[read, "use an account with the permission"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_are_listed_without_a_cluster_if_there_is_one_list() {
    let gates = Gates::new().await;
    assert_eq!(gates.plumbline(&["conformance", "tests", "./gates"]).expect(0).out, "closes\nopens\n");
    let shown = gates.plumbline(&["conformance", "show", "./gates"]).expect(0).out;
    assert!(shown.contains("that of the cluster (annotation `toys.example.org/bundle-version` of"), "{shown}");
    let data: Value =
        serde_json::from_str(&gates.plumbline(&["conformance", "show", "./gates", "-o", "json"]).expect(0).out)
            .unwrap();
    assert_eq!(data["version"], Value::Null);
    // With several lists, only the cluster knows which one applies.
    gates.bed.write("gates/lists/tests-v1.7.0.txt", "opens\n");
    let fails = gates.plumbline(&["conformance", "tests", "./gates"]).expect(4).err;
    assert!(fails.contains("failed to find the version of profile `gates`"), "{fails}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_can_be_that_of_kubernetes() {
    let gates = Gates::new().await;
    let version = "version: {cluster: true}\n";
    let (head, rest) = PROFILE.split_once("version: ").unwrap();
    gates.bed.write("gates/profile.yaml", &format!("{head}{version}{}", rest.split_once('\n').unwrap().1));
    gates.bed.write("gates/plugin.yaml", &PLUGIN.replace("gates:1", "gates:$SONOBUOY_K8S_VERSION"));
    // The user may name another one.
    let kubeconfig = gates.bed.path("kubeconfig");
    let run = ["conformance", "run", "./gates", "--wait=0", "--kubeconfig", kubeconfig.to_str().unwrap()];
    let done = gates.plumbline(&[&run[..], &["--kubernetes-version", "v1.6.1", "--dry-run"]].concat()).expect(0);
    assert!(done.err.contains("Gates v1.6.1, mode `full`, 1 required"), "{}", done.err);
    gates.bed.write("gates/lists/required-v1.31.4.txt", "opens\n");
    gates.double.set_version("v1.31.4+k3s1");
    let done = gates.in_cluster().expect(0);
    assert!(done.err.contains("profile `gates`: Gates v1.31.4, mode `full`, 1 required"), "{}", done.err);
    let plugins = gates.double.get("configmaps", "sonobuoy", "sonobuoy-plugins-cm").unwrap();
    assert!(plugins["data"]["plugin-0.yaml"].as_str().unwrap().contains("r.example/gates:v1.31.4"));
    let shown = gates.plumbline(&["conformance", "show", "./gates"]).expect(0).out;
    assert!(shown.contains("version:     that of the cluster\n"), "{shown}");
}
