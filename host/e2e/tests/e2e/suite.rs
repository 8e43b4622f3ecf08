//! Tests of `conformance run` with the real conformance image, and with other suites.

mod faults;
mod hydrophone;
mod network_policy;

use std::collections::BTreeSet;
use std::fs;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::settings::loudly;

/// Tests of every SIG, as expressions that each match one test in every version, whatever the order
/// of its tags is. Two of them are serial.
const SELECTION: &[&str] = &[
    r"\[sig-api-machinery\] Discovery should locate the groupVersion",
    r"\[sig-api-machinery\] FieldValidation should detect unknown and duplicate fields of a typed object",
    r"\[sig-api-machinery\] Namespaces .*should patch a Namespace",
    r"\[sig-api-machinery\] ResourceQuota should apply changes to a resourcequota status",
    r"\[sig-api-machinery\] Servers with support for API chunking should return chunks",
    r"\[sig-apps\] Daemon set .*should list and delete a collection of DaemonSets",
    r"\[sig-apps\] Deployment should run the lifecycle of a Deployment",
    r"\[sig-apps\] Job should delete a job",
    r"\[sig-apps\] ReplicaSet should list and delete a collection",
    r"\[sig-architecture\] Conformance Tests should have at least two untainted nodes",
    r"\[sig-auth\] ServiceAccounts should mount an API token into pods",
    r"\[sig-auth\] ServiceAccounts should update a ServiceAccount",
    r"\[sig-auth\] SubjectReview should support",
    r"\[sig-cli\] Kubectl client Kubectl api-versions",
    r"\[sig-cli\] Kubectl client Kubectl version",
    r"\[sig-instrumentation\] Events API should ensure",
    r"\[sig-instrumentation\] Events should delete a collection",
    r"\[sig-network\] DNS should support configurable pod DNS nameservers",
    r"\[sig-network\] EndpointSlice should create and delete (Endpoints and )?EndpointSlices for a Service with a selector",
    r"\[sig-network\] Services should find a service from listing",
    r"\[sig-node\] ConfigMap should update",
    r"\[sig-node\] Containers should be able to override the image's default command and arguments",
    r"\[sig-node\] Secrets should be consumable from pods in env vars",
    r"\[sig-scheduling\] LimitRange should list",
    r"\[sig-storage\] EmptyDir volumes should support \(root,0666,default\)",
    r"\[sig-storage\] Projected configMap should be consumable from pods in volume as non-root \[",
    r"\[sig-storage\] Secrets should be consumable from pods in volume with mappings \[",
];

/// The test that fails, because the API server rejects its Secret: its name up to the first tag,
/// which depends on the version.
const FAILS: &str = "[sig-storage] Secrets should be consumable from pods in volume with mappings [";

/// The prefix of its Secrets' names.
const ITS_SECRETS: &str = "secret-test-map-";

/// Returns an environment in a cluster that can pull the suite's images, and the registry that has
/// them.
pub(crate) fn bed(test: &str) -> Option<(Bed, String)> {
    bed_of(test, Bed::new)
}

/// The same, without other tests at the same time. Some tests of the suite make assumptions about
/// all nodes.
pub(crate) fn bed_alone(test: &str) -> Option<(Bed, String)> {
    bed_of(test, Bed::alone)
}

fn bed_of(test: &str, of: fn(&str) -> Option<Bed>) -> Option<(Bed, String)> {
    let Ok(registry) = std::env::var("PLUMBLINE_E2E_REGISTRY") else {
        loudly(&format!(
            "SKIPPED {test}: PLUMBLINE_E2E_REGISTRY, a registry with the images of the suite that nodes take for registry.k8s.io, is not set"
        ));
        return None;
    };
    Some((of(test)?, registry))
}

fn conformance(bed: &Bed, more: &[&str]) -> Done {
    let image = bed.image();
    let place = ["conformance", "run", "-n", bed.namespace(), "--dir", "out"];
    let images = ["--image", image, "--image-pull-policy", "IfNotPresent"];
    bed.plumbline(&[&place[..], &images, more].concat())
}

/// A rule of the API server that is removed when dropped.
struct Refused<'a>(&'a Bed);

impl<'a> Refused<'a> {
    /// Rejects Secrets whose names start with `prefix`.
    fn secrets(bed: &'a Bed, prefix: &str) -> Self {
        let (params, name) = (PostParams::default(), bed.namespace());
        let policy = json!({
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"],
                }]},
                "validations": [{
                    "expression": format!("!object.metadata.name.startsWith('{prefix}')"),
                    "message": "refused so that a test fails",
                }],
            },
        });
        let binding = json!({
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        bed.ask(
            bed.cluster_api().create(&params, &serde_json::from_value::<ValidatingAdmissionPolicy>(policy).unwrap()),
        );
        let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(binding).unwrap();
        bed.ask(bed.cluster_api().create(&params, &binding));
        Self(bed)
    }
}

impl Drop for Refused<'_> {
    fn drop(&mut self) {
        let (delete, name) = (DeleteParams::default(), self.0.namespace());
        self.0.ask(self.0.cluster_api::<ValidatingAdmissionPolicyBinding>().delete(name, &delete));
        self.0.ask(self.0.cluster_api::<ValidatingAdmissionPolicy>().delete(name, &delete));
    }
}

#[test]
fn the_quick_mode_passes() {
    let Some((bed, _)) = bed("suite-quick") else { return };
    let done = conformance(&bed, &["--mode", "quick"]).expect(0);
    assert!(done.err.contains("e2e: 1/1"), "{done:?}");
    let status = bed.command("status", &["-o", "json"]).expect(0).json();
    let progress = &status["plugins"][0]["progress"];
    let counts = ["passed-or-skipped", "failed", "remaining"].map(|count| progress[count].as_u64());
    assert_eq!(counts, [Some(1), Some(0), Some(0)], "{status}");
}

#[test]
fn of_a_parallel_selection_the_failure_is_named_and_run_again() {
    let Some((bed, _)) = bed_alone("suite-selection") else { return };
    let _refused = Refused::secrets(&bed, ITS_SECRETS);
    let focus = SELECTION.join("|");
    let chosen = ["--e2e-focus", &focus, "--e2e-skip", "there is no such test", "--e2e-parallel", "true"];
    let done = conformance(&bed, &[&chosen[..], &["--retry-failed", "1"]].concat()).expect(1);

    let tests = SELECTION.len();
    // Of a version without a list, the list of an older one.
    assert!(done.err.contains(&format!("{tests} of ")), "the list finds each once: {done:?}");
    assert!(done.out.contains("e2e: what failed") && done.out.contains(FAILS), "{done:?}");
    let status = bed.command("status", &["-o", "json"]).expect(1).json();
    let progress = &status["plugins"][0]["progress"];
    let counts = ["passed-or-skipped", "failed", "remaining"].map(|count| progress[count].as_u64());
    assert_eq!(counts, [Some(tests as u64 - 1), Some(1), Some(0)], "{status}");

    let archives: Vec<_> = fs::read_dir(bed.path("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [archive] = &archives[..] else { panic!("{archives:?}") };
    let archive = archive.to_str().unwrap();
    let report = bed.plumbline(&["results", archive, "-p", "e2e"]).expect(1).out;
    assert!(report.contains(&format!("Passed: {}\nFailed: 1\n", tests - 1)), "{report}");
    let again = bed.plumbline(&["results", archive, "-p", "e2e-retry-1"]).expect(1).out;
    assert!(
        again.contains("Passed: 0\nFailed: 1\n") && again.contains(FAILS),
        "only what failed is run again: {again}"
    );
    let trees: Value = bed.plumbline(&["results", archive, "-o", "json"]).json();
    assert!(trees.to_string().contains("refused so that a test fails"), "the reason is in the results");
}

#[test]
fn the_quick_mode_passes_with_images_of_another_registry() {
    let Some((bed, registry)) = bed("suite-registry") else { return };
    let level = ["--namespace-psa-enforce-level", "baseline"];
    conformance(&bed, &[&["--mode", "quick", "--registry", &registry], &level[..]].concat()).expect(0);
    let pulled = bed.pulled();
    assert!(pulled.iter().all(|message| message.contains(&format!("\"{registry}/"))), "{pulled:?}");
    assert!(pulled.iter().any(|message| message.contains("/conformance:")), "{pulled:?}");
}

/// Lists the tests of a version, from one source.
fn tests(bed: &Bed, version: &str, more: &[&str]) -> Done {
    bed.plumbline(&[&["conformance", "tests", "--version", version, "--focus", r"\[sig-"], more].concat()).expect(0)
}

#[test]
fn the_list_of_this_version_is_that_of_the_suite() {
    let Some((bed, registry)) = bed("suite-list") else { return };
    let version = bed.version();
    let embedded = tests(&bed, &version, &[]);
    if embedded.err.contains("no list of the tests of") {
        loudly(&format!("SKIPPED suite-list: {}", embedded.err.lines().next().unwrap_or_default()));
        return;
    }
    let image = format!("image:{registry}/conformance:{version}");
    let real = tests(&bed, &version, &["--input", &image, "--insecure-registry", &registry]);
    let [embedded, real] = [&embedded, &real].map(|done| done.out.lines().collect::<BTreeSet<_>>());
    let differences: Vec<_> = embedded.symmetric_difference(&real).collect();
    assert!(real.len() > 1000 && differences.is_empty(), "{} tests: {differences:?}", real.len());
}
