//! The profile `ai-conformance`: a component that gets the options of its profile, on this machine,
//! with an in-memory API server.

use std::fs;
use std::sync::OnceLock;

use plumbline_author::Language;
use plumbline_author::build::missing_tool;
use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::check_languages;

const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/profiles/ai-conformance");

/// Builds the component once, and returns whether that is possible here.
pub(crate) fn is_built() -> bool {
    static BUILT: OnceLock<bool> = OnceLock::new();
    *BUILT.get_or_init(|| {
        let bed = Bed::new();
        if let Some(missing) = missing_tool(Language::Rust, PROFILE.as_ref()) {
            eprintln!("SKIPPED: {missing}");
            return false;
        }
        check_languages::plumbline(&bed, &["plugin", "build", PROFILE]).expect(0);
        true
    })
}

/// Starts an API server like that of a cluster without accelerators.
fn cluster(bed: &Bed) -> ApiDouble {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let double = runtime.block_on(ApiDouble::start()).unwrap();
    bed.write("kubeconfig", &double.kubeconfig());
    for (group, version, plural, kind) in [
        ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "v1", "apiservices", "APIService"),
        ("gateway.networking.k8s.io", "v1", "gatewayclasses", "GatewayClass"),
        ("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"),
        ("resource.k8s.io", "v1", "deviceclasses", "DeviceClass"),
        ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"),
    ] {
        double.add_resource(group, version, plural, kind, false);
    }
    double.put("nodes", json!({"metadata": {"name": "n1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.37.2"}}}));
    serve(&double, "resource.k8s.io");
    double
}

fn serve(double: &ApiDouble, group: &str) {
    double.put(
        "apiservices",
        json!({"metadata": {"name": format!("v1.{group}")}, "spec": {"group": group, "version": "v1"},
            "status": {"conditions": [{"type": "Available", "status": "True"}]}}),
    );
}

/// Adds the Gateway API with an accepted class.
fn add_gateways(double: &ApiDouble) {
    let group = "gateway.networking.k8s.io";
    serve(double, group);
    for plural in ["gatewayclasses", "gateways", "httproutes"] {
        double.put(
            "customresourcedefinitions",
            json!({"metadata": {"name": format!("{plural}.{group}")},
                "spec": {"group": group, "versions": [{"name": "v1", "served": true}]},
                "status": {"conditions": [{"type": "Established", "status": "True"}]}}),
        );
    }
    double.put(
        "gatewayclasses",
        json!({"metadata": {"name": "edge"}, "spec": {"controllerName": "example.com/edge"},
            "status": {"conditions": [{"type": "Accepted", "status": "True"}]}}),
    );
}

fn run(bed: &Bed, more: &[&str]) -> Done {
    let args = ["conformance", "run", PROFILE, "--local", "--dir", "out", "-o", "json"];
    let mut command = bed.command(&[&args[..], more].concat());
    command.env("KUBECONFIG", bed.path("kubeconfig"));
    Done::of(command)
}

/// Returns a leaf of the tree by its name.
fn leaf(bed: &Bed, name: &str) -> Value {
    let tree: Value = serde_saphyr::from_str(&bed.member("plugins/ai-conformance/sonobuoy_results.yaml")).unwrap();
    let mut rest = vec![&tree];
    while let Some(item) = rest.pop() {
        if item["name"] == name {
            return item.clone();
        }
        rest.extend(item["items"].as_array().into_iter().flatten());
    }
    panic!("no item `{name}` in {tree}");
}

#[test]
fn without_accelerators_and_statements_nothing_is_green() {
    if !is_built() {
        return;
    }
    let bed = Bed::new();
    let double = cluster(&bed);
    let done = run(&bed, &["--submission-dir", "sub"]).expect(1);
    assert!(done.err.contains("Kubernetes AI Conformance 1.37, mode `certification`"), "{}", done.err);
    assert_eq!(leaf(&bed, "ai_inference")["status"], "failed");
    let secure = leaf(&bed, "secure_accelerator_access");
    assert_eq!(secure["status"], "unknown");
    let why = secure["meta"]["error"].as_str().unwrap();
    assert!(why.starts_with("not evaluated: the cluster has no accelerators; no results of test"), "{why}");
    assert!(!bed.path("sub").exists());
    fs::remove_dir_all(bed.path("out")).unwrap();
    // With the API that failed, nothing fails, and the run is still incomplete.
    add_gateways(&double);
    run(&bed, &[]).expect(3);
    assert_eq!(leaf(&bed, "ai_inference")["status"], "passed");
}

#[test]
fn statements_are_accepted_as_statements_and_submitted() {
    if !is_built() {
        return;
    }
    let bed = Bed::new();
    let double = cluster(&bed);
    add_gateways(&double);
    let product = format!("product={PROFILE}/tests/PRODUCT.yaml");
    let log = "--- PASS: TestSecureAcceleratorAccess (1.00s)\nPASS\n";
    bed.write("log.txt", log);
    let set = ["--set-file", &product, "--set-file", "e2e-log=log.txt"];
    let done = run(&bed, &[&set[..], &["--submission-dir", "sub"]].concat()).expect(0);
    let files = "(PRODUCT.yaml, e2e.log, requirements.jsonl)";
    assert!(done.err.contains(&format!("submission: sub {files}")), "{}", done.err);
    let submitted = |name: &str| fs::read_to_string(bed.path("sub").join(name)).unwrap();
    assert_eq!(submitted("PRODUCT.yaml"), fs::read_to_string(format!("{PROFILE}/tests/PRODUCT.yaml")).unwrap());
    assert_eq!(submitted("e2e.log"), log);
    assert!(submitted("requirements.jsonl").contains("\"secure_accelerator_access\""));
    for (id, status, evidence) in [
        ("secure_accelerator_access", "passed", "test"),
        ("ai_inference", "passed", "query"),
        ("gang_scheduling", "stated", "statement"),
        ("cluster_autoscaling", "not-applicable", "statement"),
        ("gpu_sharing", "skipped", "none"),
    ] {
        let item = leaf(&bed, id);
        assert_eq!((&item["status"], &item["meta"]["evidence"]), (&json!(status), &json!(evidence)), "{item}");
    }
    fs::remove_dir_all(bed.path("out")).unwrap();
    // Where statements do not count, the same run is incomplete.
    run(&bed, &[&set[..], &["--mode", "tested"]].concat()).expect(3);
    assert_eq!(leaf(&bed, "gang_scheduling")["status"], "unknown");
}

#[test]
fn a_statement_that_the_cluster_contradicts_breaks_a_rule() {
    if !is_built() {
        return;
    }
    let bed = Bed::new();
    let _double = cluster(&bed);
    let product = format!("product={PROFILE}/tests/PRODUCT.yaml");
    run(&bed, &["--set-file", &product, "--submission-dir", "sub"]).expect(1);
    let rule = leaf(&bed, "no statement contradicts the results");
    assert_eq!(rule["status"], "failed");
    let why = rule["details"]["failure"].as_str().unwrap();
    assert!(why.contains("`ai_inference` is stated as `Implemented`, but the API server does not serve"), "{why}");
    assert!(!bed.path("sub").exists());
}

#[test]
fn a_cluster_that_cannot_be_read_is_never_green() {
    if !is_built() {
        return;
    }
    let bed = Bed::new();
    let double = cluster(&bed);
    add_gateways(&double);
    double.deny("list", "gatewayclasses");
    let product = format!("product={PROFILE}/tests/PRODUCT.yaml");
    run(&bed, &["--set-file", &product]).expect(3);
    let item = leaf(&bed, "ai_inference");
    assert_eq!(item["status"], "unknown");
    assert!(item["meta"]["error"].as_str().unwrap().starts_with("the cluster could not be read: "), "{item}");
    fs::remove_dir_all(bed.path("out")).unwrap();
    drop(double);
    let done = run(&bed, &["--set-file", &product]);
    assert_ne!(done.code, 0, "{}", done.out);
}

#[test]
fn reports_of_tests_that_are_too_large_are_rejected_before_the_run() {
    if !is_built() {
        return;
    }
    let bed = Bed::new();
    let _double = cluster(&bed);
    bed.write("results.json", &"{\"Action\":\"pass\"}\n".repeat(6000));
    let done = run(&bed, &["--set-file", "results=results.json"]);
    assert!(done.code != 0 && done.err.contains("more than the limit of 102400"), "{}: {}", done.code, done.err);
}
