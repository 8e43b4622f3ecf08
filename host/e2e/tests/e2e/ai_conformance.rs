//! The profile `ai-conformance` in a cluster without accelerators and without a Gateway API: what
//! nobody evaluated is not green, and a statement that the cluster contradicts breaks a rule.

use std::fs;

use serde_json::Value;

use crate::bed::{Bed, Done};
use crate::checks::{example, tree};
use crate::versions::AI_CHECKLIST;

/// The MUSTs of which the cluster shows nothing.
const OPEN: [&str; 6] = [
    "gang_scheduling",
    "pod_autoscaling",
    "accelerator_metrics",
    "ai_service_metrics",
    "secure_accelerator_access",
    "robust_controller",
];

/// Runs the profile, and returns the tree of its results.
fn run(bed: &Bed, profile: &str, more: &[&str]) -> (Done, Value) {
    let version = format!("kubernetes=1.{}", bed.minor());
    let image = bed.image().to_owned();
    let args = [
        "conformance",
        "run",
        profile,
        "-n",
        bed.namespace(),
        "--image",
        &image,
        "--image-pull-policy",
        "IfNotPresent",
        "--dir",
        "out",
        "--set",
        &version,
    ];
    let done = bed.plumbline(&[&args[..], more].concat());
    let archive = fs::read_dir(bed.path("out")).unwrap().next().unwrap().unwrap().path();
    let found = tree(bed, archive.to_str().unwrap(), "ai-conformance");
    fs::remove_file(archive).unwrap();
    (done, found)
}

/// Returns an item by its name.
fn item<'a>(tree: &'a Value, name: &str) -> &'a Value {
    let mut rest = vec![tree];
    while let Some(item) = rest.pop() {
        if item["name"] == name {
            return item;
        }
        rest.extend(item["items"].as_array().into_iter().flatten());
    }
    panic!("no item `{name}` in {tree}");
}

/// Alone, because other tests may install what this cluster must not have.
#[test]
fn requirements_are_evaluated_stated_or_contradicted() {
    let Some(bed) = Bed::alone("ai") else { return };
    if !AI_CHECKLIST.is_on(&bed, "ai") {
        return;
    }
    let profile = example(&bed, "profiles/ai-conformance");
    let (done, tree) = run(&bed, profile.to_str().unwrap(), &["--submission-dir", "sub"]);
    let done = done.expect(1);
    assert_eq!(item(&tree, "version of Kubernetes")["status"], "passed", "{tree}");
    for id in OPEN {
        let requirement = item(&tree, id);
        let why = requirement["meta"]["error"].as_str().unwrap();
        assert!(requirement["status"] == "unknown" && why.starts_with("not evaluated: "), "{requirement}");
    }
    let why = item(&tree, "secure_accelerator_access")["meta"]["error"].as_str().unwrap();
    assert!(why.contains("the cluster has no accelerators"), "{why}");
    let gateways = item(&tree, "ai_inference");
    assert_eq!(gateways["status"], "failed");
    assert!(gateways["details"]["failure"].as_str().unwrap().contains("does not serve"), "{gateways}");
    assert!(!bed.path("sub").exists(), "{}", done.err);
    bed.command("delete", &["--wait", "--yes"]).expect(0);

    let product = fs::read_to_string(profile.join("tests/PRODUCT.yaml")).unwrap();
    fs::write(bed.path("PRODUCT.yaml"), product.replace("v1.37", &format!("v1.{}", bed.minor()))).unwrap();
    let (done, tree) = run(&bed, profile.to_str().unwrap(), &["--set-file", "product=PRODUCT.yaml"]);
    done.expect(1);
    for id in OPEN {
        let requirement = item(&tree, id);
        let why = requirement["details"]["reason"].as_str().unwrap();
        assert!(requirement["status"] == "stated" && why.starts_with("stated and not tested: "), "{requirement}");
    }
    assert_eq!(item(&tree, "cluster_autoscaling")["status"], "not-applicable");
    let rule = item(&tree, "no statement contradicts the results");
    assert_eq!(rule["status"], "failed");
    let why = rule["details"]["failure"].as_str().unwrap();
    assert!(why.contains("`ai_inference` is stated as `Implemented`"), "{why}");
}
