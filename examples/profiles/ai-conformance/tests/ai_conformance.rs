//! The requirements on recorded objects, results of tests and statements.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use plumbline_module_ai_conformance::AiConformance;
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Status};
use serde_json::{Value, json};

const MUSTS: [&str; 8] = [
    "ai_inference",
    "gang_scheduling",
    "cluster_autoscaling",
    "pod_autoscaling",
    "accelerator_metrics",
    "ai_service_metrics",
    "secure_accelerator_access",
    "robust_controller",
];

const REGISTRATION: &str = "apiregistration.k8s.io/v1";
const EXTENSIONS: &str = "apiextensions.k8s.io/v1";
const GATEWAY: &str = "gateway.networking.k8s.io";

fn service(group: &str, version: &str) -> Value {
    json!({
        "metadata": {"name": format!("{version}.{group}")}, "spec": {"group": group, "version": version},
        "status": {"conditions": [{"type": "Available", "status": "True"}]},
    })
}

fn custom(plural: &str, group: &str, version: &str) -> Value {
    json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "versions": [{"name": version, "served": true}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    })
}

fn node(version: &str) -> Value {
    json!({"metadata": {"name": "n1"}, "status": {"nodeInfo": {"kubeletVersion": version}, "allocatable": {"cpu": "2"}}})
}

/// A cluster without anything.
fn bare() -> Case {
    let case = [
        ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"),
        (EXTENSIONS, "customresourcedefinitions"),
        ("apps/v1", "daemonsets"),
        ("apps/v1", "deployments"),
        ("node.k8s.io/v1", "runtimeclasses"),
        ("resource.k8s.io/v1", "deviceclasses"),
        ("resource.k8s.io/v1", "resourceslices"),
    ];
    case.into_iter()
        .fold(Case::new(), |case, (api_version, resource)| case.objects(api_version, resource, []))
        .objects(REGISTRATION, "apiservices", [service("resource.k8s.io", "v1")])
        .objects("v1", "nodes", [node("v1.37.2")])
        .option("kubernetes", "1.37")
        .option("statements", true)
}

/// Adds the Gateway API with a class.
fn with_gateways(case: Case, accepted: &str) -> Case {
    let class = json!({
        "metadata": {"name": "edge"}, "spec": {"controllerName": "example.com/edge"},
        "status": {"conditions": [{"type": "Accepted", "status": accepted}]},
    });
    case.objects(REGISTRATION, "apiservices", [service(GATEWAY, "v1")])
        .objects(
            EXTENSIONS,
            "customresourcedefinitions",
            ["gatewayclasses", "gateways", "httproutes"].map(|of| custom(of, GATEWAY, "v1")),
        )
        .objects("gateway.networking.k8s.io/v1", "gatewayclasses", [class])
}

/// Returns `PRODUCT.yaml` in which every MUST is stated with a link. `change` gets each entry.
fn product(change: impl Fn(&str, &mut Value)) -> String {
    let text = include_str!("PRODUCT.yaml");
    let mut document: Value = serde_saphyr::from_str(text).unwrap();
    for entries in document["spec"].as_object_mut().unwrap().values_mut() {
        for entry in entries.as_array_mut().unwrap() {
            let id = entry["id"].as_str().unwrap().to_owned();
            change(&id, entry);
        }
    }
    document.to_string()
}

fn stated() -> String {
    product(|_, _| {})
}

fn status<'a>(run: &'a Run, name: &str) -> &'a str {
    run.item(name).unwrap().status.as_ref().map_or("-", Status::as_str)
}

fn meta<'a>(run: &'a Run, name: &str, key: &str) -> &'a str {
    let found = run.item(name).unwrap().meta.iter().find(|(of, _)| of == key);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

fn detail<'a>(run: &'a Run, name: &str, key: &str) -> &'a str {
    match run.item(name).unwrap().details.iter().find(|(of, _)| of == key) {
        Some((_, Detail::Text(text))) => text,
        _ => "",
    }
}

const AGREES: &str = "no statement contradicts the results";

#[test]
fn nothing_is_green_that_nobody_evaluated() {
    let run = bare().check::<AiConformance>();
    run.outcome.as_ref().unwrap();
    for id in MUSTS {
        let expected = if id == "ai_inference" { "failed" } else { "unknown" };
        assert_eq!(status(&run, id), expected, "{id}");
    }
    assert!(meta(&run, "secure_accelerator_access", "error").contains("the cluster has no accelerators"));
    assert!(meta(&run, "gang_scheduling", "error").contains("no results of test `TestGangScheduling`"));
    assert_eq!(
        detail(&run, "ai_inference", "failure"),
        "the API server does not serve `gatewayclasses.gateway.networking.k8s.io` in v1"
    );
    // Only the version of the nodes passed.
    assert_eq!(run.count(&Status::Passed), 1, "{}", run.outline());
    assert_eq!(run.count(&Status::Skipped), 7 + 2, "{}", run.outline());
}

#[test]
fn statements_count_as_stated_and_not_as_tested() {
    let run = with_gateways(bare(), "True").option("product", stated()).check::<AiConformance>();
    for id in MUSTS {
        let expected = match id {
            "ai_inference" => "passed",
            "cluster_autoscaling" => "not-applicable",
            _ => "stated",
        };
        assert_eq!(status(&run, id), expected, "{id}: {}", run.outline());
    }
    assert!(detail(&run, "pod_autoscaling", "statement").contains("https://docs.example.com/pod_autoscaling"));
    assert!(detail(&run, "pod_autoscaling", "reason").starts_with("stated and not tested: "));
    assert_eq!(
        (meta(&run, "pod_autoscaling", "evidence"), meta(&run, "ai_inference", "evidence")),
        ("statement", "query")
    );
    assert_eq!((run.count(&Status::Failed), run.count(&Status::Unknown)), (0, 0), "{}", run.outline());
    // In the other mode, they count for nothing.
    let run =
        with_gateways(bare(), "True").option("product", stated()).option("statements", false).check::<AiConformance>();
    assert_eq!((run.count(&Status::Unknown), status(&run, "cluster_autoscaling")), (7, "unknown"), "{}", run.outline());
}

#[test]
fn a_statement_that_the_results_contradict_is_a_broken_rule() {
    // `Implemented`, and the cluster has no accepted class.
    let run = with_gateways(bare(), "False").option("product", stated()).check::<AiConformance>();
    assert_eq!((status(&run, "ai_inference"), status(&run, AGREES)), ("failed", "failed"));
    assert!(
        detail(&run, AGREES, "failure").contains("`ai_inference` is stated as `Implemented`, but the API is served")
    );
    // `Implemented`, and the test failed.
    let log = "--- FAIL: TestGangScheduling\nFAIL\n";
    let run = bare().option("product", stated()).option("e2e-log", log).check::<AiConformance>();
    assert_eq!((status(&run, "gang_scheduling"), status(&run, "e2e.log")), ("failed", "failed"));
    assert!(detail(&run, AGREES, "failure").contains("test `TestGangScheduling` failed in `e2e.log`"));
    // `N/A`, and the cluster has an autoscaler.
    let scaler =
        json!({"metadata": {"namespace": "kube-system", "name": "cluster-autoscaler"}, "status": {"readyReplicas": 1}});
    let run = bare().objects("apps/v1", "deployments", [scaler]).option("product", stated()).check::<AiConformance>();
    assert_eq!(status(&run, "cluster_autoscaling"), "failed");
    assert!(
        detail(&run, AGREES, "failure")
            .contains("the cluster has autoscalers of nodes: workload `kube-system/cluster-autoscaler`")
    );
    // `Not Implemented`, and the test passed.
    let less = product(|id, entry| {
        if id == "workload_sandboxing" {
            entry["status"] = json!("Not Implemented");
        }
    });
    let log = "--- PASS: TestWorkloadSandboxing\nPASS\n";
    let run = bare().option("product", less).option("e2e-log", log).check::<AiConformance>();
    assert_eq!((status(&run, "workload_sandboxing"), status(&run, AGREES)), ("passed", "failed"));
}

#[test]
fn results_of_tests_are_evidence() {
    let junit = "<testsuites><testsuite><testcase name='TestSecureAcceleratorAccess'/>\
                 <testcase name='TestAcceleratorClusterAutoscaling'><skipped/></testcase></testsuite></testsuites>";
    let run = bare().option("product", stated()).option("junit", junit).check::<AiConformance>();
    assert_eq!((status(&run, "junit.xml"), status(&run, "secure_accelerator_access")), ("passed", "passed"));
    assert_eq!(meta(&run, "secure_accelerator_access", "evidence"), "test");
    assert_eq!(status(&run, "cluster_autoscaling"), "not-applicable");
    // Without the statement, a skipped test is not evidence.
    let run = bare().option("junit", junit).check::<AiConformance>();
    assert_eq!(status(&run, "cluster_autoscaling"), "unknown");
    assert!(meta(&run, "cluster_autoscaling", "error").contains("was skipped in `junit.xml`"));
    // Files that disagree.
    let log = "--- FAIL: TestSecureAcceleratorAccess\nFAIL\n";
    let run = bare().option("junit", junit).option("e2e-log", log).check::<AiConformance>();
    assert_eq!(
        (status(&run, "secure_accelerator_access"), status(&run, "files with results of tests agree")),
        ("failed", "failed")
    );
    // A damaged file.
    let run = bare().option("junit", "<testsuites><testcase").check::<AiConformance>();
    assert_eq!((status(&run, "junit.xml"), status(&run, "secure_accelerator_access")), ("failed", "unknown"));
}

#[test]
fn what_cannot_be_read_does_not_pass_whatever_is_stated() {
    let denied = || Case::new().option("kubernetes", "1.37").option("statements", true).option("product", stated());
    let run = denied().check::<AiConformance>();
    assert_eq!(run.count(&Status::Passed), 4, "only rules of PRODUCT.yaml passed: {}", run.outline());
    for id in MUSTS {
        assert_eq!(status(&run, id), "unknown", "{id}");
    }
    let broken =
        with_gateways(bare(), "True").broken_objects("gateway.networking.k8s.io/v1", "gatewayclasses", "timed out");
    let run = broken.option("product", stated()).check::<AiConformance>();
    assert_eq!(
        (status(&run, "ai_inference"), meta(&run, "ai_inference", "error")),
        ("unknown", "the cluster could not be read: timed out")
    );
}

#[test]
fn the_checklist_is_that_of_the_version() {
    let run = bare().option("kubernetes", "1.35").check::<AiConformance>();
    assert_eq!((status(&run, "dra_support"), status(&run, "version of Kubernetes")), ("passed", "failed"));
    assert!(run.item("workload_sandboxing").is_none());
    assert!(detail(&run, "version of Kubernetes", "failure").contains("n1 runs v1.37.2"));
    // Before v1.34, the API was not stable.
    let beta = Case::new().objects(REGISTRATION, "apiservices", [service("resource.k8s.io", "v1beta1")]);
    for (version, expected) in [("1.33", "passed"), ("1.34", "failed")] {
        let run = beta.clone().option("kubernetes", version).check::<AiConformance>();
        assert_eq!(status(&run, "dra_support"), expected, "{version}");
    }
    let run = bare().option("kubernetes", "1.32").check::<AiConformance>();
    assert!(run.outcome.is_err_and(|error| error.contains("no checklist for Kubernetes `1.32`")));
    // The file of another version.
    let run = bare().option("kubernetes", "1.36").option("product", stated()).check::<AiConformance>();
    assert_eq!(status(&run, "it is for the version of the checklist"), "failed");
}

#[test]
fn what_a_cluster_has_is_named() {
    let slice = json!({"metadata": {"name": "s"}, "spec": {"driver": "gpu.example.com", "devices": [
        {"name": "gpu-0", "attributes": {"driverVersion": {"version": "1.2.3"}}, "consumesCounters": []},
    ]}});
    let class = json!({"metadata": {"name": "box"}, "handler": "runsc"});
    let case = bare()
        .objects("resource.k8s.io/v1", "resourceslices", [slice])
        .objects("node.k8s.io/v1", "runtimeclasses", [class])
        .objects(
            EXTENSIONS,
            "customresourcedefinitions",
            [custom("clusterqueues", "kueue.x-k8s.io", "v1beta1"), custom("rayclusters", "ray.io", "v1")],
        )
        .objects(REGISTRATION, "apiservices", [service("custom.metrics.k8s.io", "v1beta2")]);
    let run = case.check::<AiConformance>();
    for (id, seen) in [
        ("driver_runtime_management", "versions of drivers: devices of gpu.example.com"),
        ("gpu_sharing", "shared accelerators: partitionable devices of gpu.example.com"),
        ("gang_scheduling", "APIs for gang scheduling: kueue.x-k8s.io"),
        ("pod_autoscaling", "APIs of custom metrics: custom.metrics.k8s.io/v1beta2"),
        ("secure_accelerator_access", "accelerators: gpu.example.com"),
        ("workload_sandboxing", "runtime classes of sandboxes: handler `runsc`"),
        ("robust_controller", "custom resources of AI operators: rayclusters.ray.io"),
    ] {
        assert_eq!(detail(&run, id, "cluster"), seen);
        // That something is there does not show that it works.
        assert!(["unknown", "skipped"].contains(&status(&run, id)), "{id}");
    }
}

#[test]
fn unknown_options_are_an_error() {
    let run = bare().option("prodct", "x").check::<AiConformance>();
    assert!(run.outcome.is_err_and(|error| error.contains("prodct")));
}
