//! Tests of `conformance run` on a cluster with a simulated suite. The image under test replaces
//! that of the suite (`plumbline-dev suite`), and behaves as its variables say.

use std::fs;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};

use crate::bed::{Bed, Done};

/// The version whose tests are simulated, whatever the version of the cluster is.
pub(crate) const VERSION: &str = "v1.37.2";

/// A conformance test of that version that is in every list.
const ONE_TEST: &str = "Pods should be submitted and removed";

const PRODUCT: &str = "\
vendor: Plummet Works
name: Plummet Engine
version: v1.7.1
website_url: https://plummet.example/plummet-engine
repo_url: https://git.example/plummet/plummet-engine
documentation_url: https://plummet.example/plummet-engine/docs
product_logo_url: https://plummet.example/assets/plummet-engine.svg
type: installer
description: An installer that is not there.
contact_email_address: certify@plummet.example
";

/// Writes `e2e.yaml`: the built-in definition with the program of the image under test instead of
/// the suite's, and with further variables.
pub(crate) fn definition(bed: &Bed, more: &[(&str, &str)]) {
    let printed = bed.plumbline(&["gen", "plugin", "e2e"]).expect(0).out;
    let mut definition: Value = serde_saphyr::from_str(&printed).unwrap();
    definition["spec"]["command"] = json!(["/plumbline-dev", "suite"]);
    let env = definition["spec"]["env"].as_array_mut().unwrap();
    let given = [("FAKE_E2E_LIST_VERSION", VERSION), ("FAKE_E2E_TEST_TIME", "10ms")];
    env.extend(given.iter().chain(more).map(|(name, value)| json!({"name": name, "value": value})));
    fs::write(bed.path("e2e.yaml"), definition.to_string()).unwrap();
}

/// Runs `conformance run` with it.
fn conformance(bed: &Bed, more: &[&str]) -> Done {
    let image = bed.image().to_owned();
    let args = [
        "conformance",
        "run",
        "-n",
        bed.namespace(),
        "-p",
        "e2e.yaml",
        "--image",
        &image,
        "--image-pull-policy",
        "IfNotPresent",
        "--kube-conformance-image",
        &image,
        "--kubernetes-version",
        VERSION,
        "--dir",
        "out",
    ];
    bed.plumbline(&[&args[..], more].concat())
}

/// Returns the only downloaded archive.
fn archive(bed: &Bed) -> PathBuf {
    let found: Vec<PathBuf> = fs::read_dir(bed.path("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_test_that_fails_fails_the_run_and_is_named() {
    let Some(bed) = Bed::new("conformance-fails") else { return };
    definition(&bed, &[("FAKE_E2E_FAIL", ONE_TEST)]);
    let done = conformance(&bed, &[]).expect(1);
    assert!(done.err.contains("selected"), "{done:?}");
    // The progress ends with the last test and its name.
    let status = bed.command("status", &["-o", "json"]).expect(1).json();
    let progress = &status["plugins"][0]["progress"];
    assert_eq!((&progress["failed"], &progress["remaining"]), (&json!(1), &json!(0)), "{status}");
    assert!(progress["passed-or-skipped"].as_u64() > Some(100), "{status}");
    assert!(progress["failures"][0].as_str().is_some_and(|name| name.contains(ONE_TEST)), "{status}");
    // The output has the name, so users need not open the archive.
    assert!(done.out.contains("e2e: what failed") && done.out.contains(ONE_TEST), "{done:?}");
    let archive = archive(&bed).display().to_string();
    let report = bed.plumbline(&["results", &archive, "-p", "e2e"]).expect(1).out;
    assert!(report.contains(ONE_TEST), "{report}");
    // Only this test is run again.
    let again = bed.plumbline(&["gen", "plugin", "e2e", "--rerun-failed", &archive]).expect(0).out;
    let again: Value = serde_saphyr::from_str(&again).unwrap();
    let env = again["spec"]["env"].as_array().unwrap();
    let focus = env.iter().find(|variable| variable["name"] == "E2E_FOCUS").unwrap()["value"].as_str().unwrap();
    assert!(focus.contains(ONE_TEST) && !focus.contains('|'), "{focus}");
}

#[test]
fn a_test_that_fails_once_is_run_again_and_both_outcomes_are_there() {
    let Some(bed) = Bed::new("conformance-flaky") else { return };
    definition(&bed, &[("FAKE_E2E_FLAKY", ONE_TEST)]);
    // The built-in definition says nothing about users and privileges, so it runs at this level.
    conformance(&bed, &["--retry-failed", "1", "--namespace-psa-enforce-level", "restricted"]).expect(0);
    let archive = archive(&bed).display().to_string();
    let trees = bed.plumbline(&["results", &archive, "-o", "json"]).json();
    let tree = |name: &str| trees.as_array().unwrap().iter().find(|tree| tree["name"] == name).cloned();
    assert_eq!(tree("e2e").unwrap()["status"], "failed", "{trees}");
    assert_eq!(tree("e2e-retry-1").unwrap()["status"], "passed", "{trees}");
}

/// Tests whose names have more than 100 KiB together, the limit of a status.
const MANY_TESTS: &str = r"\[sig-node\]";

/// The most bytes of all annotations of an object together.
const ALL_ANNOTATIONS: usize = 256 << 10;

#[test]
fn more_names_of_failed_tests_than_annotations_hold_are_in_the_full_status() {
    let Some(bed) = Bed::new("conformance-annotations") else { return };
    definition(&bed, &[("FAKE_E2E_FAIL", ".")]);
    conformance(&bed, &["--e2e-focus", MANY_TESTS]).expect(1);
    let annotations = bed.ask(bed.api::<Pod>().get("sonobuoy")).metadata.annotations.unwrap();
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(bytes < ALL_ANNOTATIONS, "{bytes}");
    let short: Value = serde_json::from_str(&annotations["sonobuoy.hept.io/status"]).unwrap();
    assert_eq!(short["compacted"], "names", "{short}");
    let stored = bed.ask(bed.api::<ConfigMap>().get("plumbline-status"));
    assert!(stored.binary_data.is_some_and(|data| data.contains_key("status.json.gz")));
    let full = bed.command("status", &["--full", "-o", "json"]).expect(1).json();
    let names = |status: &Value| status["plugins"][0]["progress"]["failures"].as_array().map_or(0, Vec::len);
    assert!(names(&full) > 500 && names(&short) < names(&full), "{} of {}", names(&short), names(&full));
}

#[test]
fn a_whole_suite_that_passes_becomes_a_submission() {
    let Some(bed) = Bed::new("conformance-submission") else { return };
    definition(&bed, &[]);
    fs::write(bed.path("PRODUCT.yaml"), PRODUCT).unwrap();
    bed.plumbline(&["plugin", "keygen", "--file", "vendor"]).expect(0);
    let submit = ["--submission-dir", "submission", "--product", "PRODUCT.yaml", "--sign", "vendor.key"];
    conformance(&bed, &submit).expect(0);
    let folder = bed.path("submission/v1.37/plummet-engine");
    let mut names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["PRODUCT.yaml", "README.md", "e2e.log", "junit_01.xml"]);
    let check = ["conformance", "submission", "check", folder.to_str().unwrap()];
    let checked = bed.plumbline(&[&check[..], &["--key", "vendor.pub", "-o", "json"]].concat()).expect(0).json();
    let attested = checked["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "attestation");
    assert_eq!(attested.map(|finding| &finding["outcome"]), Some(&json!("passed")), "{checked}");
}
