//! Tests of submissions against the rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use plumbline_conformance::lists::Embedded;
use plumbline_conformance::submission::{
    Cases, Contents, FILES, Finding, FoundFile, LogVersions, Outcome, Release, Required, SubmissionPath, Summary,
    assemble, check,
};
use proptest::prelude::*;

use crate::built_in::lists;

const PRODUCT: &str = "vendor: Example\nname: Engine\nversion: '2'\ntype: distribution\ndescription: an engine\nwebsite_url: https://example.org\n\
    documentation_url: https://example.org/docs\ncontact_email_address: k8s@example.org\n";

/// Test cases of a run that passed.
const GOOD: &str = "<testcase name='[It] a [Conformance]'/><testcase name='[It] b &amp;#34;x&amp;#34; [Conformance]'/>\
    <testcase name='[It] c'><skipped/></testcase>";

const FOLDER: &str = "v1.30/engine";

/// Returns results with these test cases.
fn cases(cases: &str) -> Cases {
    Cases::read(format!("<testsuites><testsuite>{cases}</testsuite></testsuites>").as_bytes())
}

struct Submission {
    files: Vec<FoundFile>,
    product: String,
    log: LogVersions,
    cases: Cases,
    required: Option<Required>,
}

impl Submission {
    /// Returns a submission without problems, for two required tests.
    fn good() -> Self {
        let names = ["a [Conformance]", "b \"x\" [Conformance]"];
        let cases = cases(GOOD);
        Self {
            files: FILES.iter().map(|name| FoundFile { path: format!("{FOLDER}/{name}"), bytes: 9 }).collect(),
            product: PRODUCT.to_owned(),
            log: LogVersions::read("e2e test version: v1.30.2"),
            cases,
            required: Some(required(names)),
        }
    }

    fn check(&self) -> Vec<Finding> {
        check(&Contents {
            files: &self.files,
            product: Some(self.product.as_bytes()),
            log: &self.log,
            cases: Some(&self.cases),
            required: self.required.as_ref(),
        })
    }

    /// Returns the rules that failed.
    fn broken(&self) -> Vec<&'static str> {
        self.check().iter().filter(|finding| finding.outcome == Outcome::Failed).map(|finding| finding.rule).collect()
    }
}

fn release() -> Release {
    "v1.30".parse().unwrap()
}

fn required(names: impl IntoIterator<Item = &'static str>) -> Required {
    Required { release: release(), names: names.into_iter().map(str::to_owned).collect(), source: "a test".to_owned() }
}

#[test]
fn a_good_submission_breaks_no_rule_and_tells_what_was_not_checked() {
    let findings = Submission::good().check();
    let lines: Vec<String> =
        findings.iter().map(|finding| format!("{:20} {:11} {}", finding.rule, finding.outcome, finding.what)).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let summary = Summary::of(&findings);
    assert_eq!((summary.failed, summary.incomplete), (0, false));
    // The names of rules are unique, and every problem has a hint.
    let names: BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(names.len(), findings.len());
    assert!(findings.iter().all(|finding| finding.outcome == Outcome::Passed || finding.hint.is_some()));
    assert!(
        findings
            .iter()
            .any(|finding| finding.hint.as_deref()
                == Some("call the pull request `Conformance results for v1.30/engine`"))
    );
}

#[test]
fn files_and_folders() {
    let mut missing = Submission::good();
    missing.files.remove(2);
    assert_eq!(missing.broken(), ["required-files"]);
    let mut empty = Submission::good();
    empty.files[0].bytes = 0;
    assert_eq!(empty.broken(), ["required-files"]);
    let mut other = Submission::good();
    other.files.push(FoundFile { path: format!("{FOLDER}/.DS_Store"), bytes: 1 });
    assert_eq!(other.broken(), ["no-other-files"]);
    let mut second = Submission::good();
    second.files.push(FoundFile { path: "v1.30/other/README.md".to_owned(), bytes: 1 });
    assert_eq!(second.broken(), ["one-product"]);
    for folder in ["engine", "1.30/engine", "v1.3/engine", "v1.30", "v1.30/a/b"] {
        let mut wrong = Submission::good();
        wrong.files = FILES.iter().map(|name| FoundFile { path: format!("{folder}/{name}"), bytes: 9 }).collect();
        let rule = if folder == "v1.30/a/b" { "human-review" } else { "folder-structure" };
        assert!(wrong.broken().contains(&rule), "{folder}");
    }
    let nothing = Submission { files: Vec::new(), ..Submission::good() };
    assert_eq!(
        nothing.broken(),
        ["required-files", "no-other-files", "folder-structure", "one-product", "supported-release"]
    );
}

#[test]
fn the_product() {
    for (from, to, rules) in [
        ("vendor: Example", "vendor:", &["product-fields"][..]),
        ("vendor: Example", "vendor: ''", &["human-review"]),
        ("type: distribution", "type: Distribution", &["product-type"]),
        ("k8s@example.org", "nobody", &["product-addresses"]),
        ("website_url: https://", "website_url: ", &["product-addresses"]),
        ("website_url: https://", "website_url: /", &["human-review"]),
        ("website_url: https://example.org", "website_url: https://ex.com:abc", &["product-addresses"]),
        ("website_url: https://example.org", "website_url: HTTPS://EX.COM", &[]),
        ("k8s@example.org", "a@b_c.com", &[]),
        ("vendor: Example", "vendor: Example\nvendor: Other", &[]),
        ("vendor: Example", "vendor: [", &["required-files", "product-fields", "product-addresses", "product-type"]),
    ] {
        let submission = Submission { product: PRODUCT.replace(from, to), ..Submission::good() };
        assert_eq!(submission.broken(), rules, "{to}");
    }
}

#[test]
fn tests() {
    let mut missing = Submission::good();
    missing.required = Some(required(["a [Conformance]", "z [Conformance]", "y [Conformance]"]));
    assert_eq!(missing.broken(), ["required-tests"]);
    let findings = missing.check();
    let finding = findings.iter().find(|finding| finding.rule == "required-tests").unwrap();
    assert_eq!(finding.names, ["y [Conformance]", "z [Conformance]"]);

    let with = |more: &str| Submission { cases: cases(&format!("{GOOD}{more}")), ..Submission::good() };
    let failed = with("<testcase name='[It] d [Conformance]'><failure/></testcase>");
    assert_eq!(failed.broken(), ["no-failed-tests"], "also one that is not required");
    let flaky = with("<testcase name='a [Conformance]'><error/></testcase>");
    assert_eq!(flaky.broken(), ["no-failed-tests"]);
    let findings = flaky.check();
    let finding = findings.iter().find(|finding| finding.rule == "no-failed-tests").unwrap();
    assert!(finding.hint.as_ref().unwrap().contains("1 of them passed at another try"));
    let elsewhere = with("<testcase name='not of the suite'><failure/></testcase>");
    assert_eq!(elsewhere.broken(), [""; 0], "only conformance tests count");

    let mut unknown = Submission::good();
    unknown.required = None;
    assert_eq!(unknown.broken(), [""; 0]);
    assert!(Summary::of(&unknown.check()).incomplete);
}

#[test]
fn results_that_the_verifier_cannot_read() {
    let with = |document: &str| Submission { cases: Cases::read(document.as_bytes()), ..Submission::good() };
    let good = format!("<testsuites><testsuite>{GOOD}</testsuite></testsuites>");
    assert_eq!(with(&good).broken(), [""; 0]);
    for document in [
        format!("<testsuite>{GOOD}</testsuite>"),
        good.replace("</testsuites>", ""),
        good.replace("<testsuite>", "<testsuite tests='7.0'>"),
        good.replace("<testcase", "& <testcase"),
        String::new(),
    ] {
        assert_eq!(with(&document).broken(), ["results-readable", "required-tests", "no-failed-tests"], "{document}");
    }
    let nested =
        good.replace("<testcase name='[It] c'>", "<testsuite><testcase name='d'/></testsuite><testcase name='[It] c'>");
    assert_eq!(with(&nested).broken(), ["human-review"]);
    let dry_run = "<testsuite><properties><property name='DryRun' value='true'/></properties>";
    assert_eq!(with(&good.replace("<testsuite>", dry_run)).broken(), ["human-review"]);
    for (attempts, rules) in [("0", &[][..]), ("1", &[]), ("2", &["human-review"])] {
        let suite = format!(
            "<testsuite><properties><property name='FlakeAttempts' value='{attempts}'></property></properties>"
        );
        assert_eq!(with(&good.replace("<testsuite>", &suite)).broken(), rules, "{attempts}");
    }
    let mut log = Submission::good();
    log.log = LogVersions::read("kube-apiserver version: v1.29.9");
    assert_eq!(log.broken(), ["log-version"]);
}

#[test]
fn every_version_has_its_required_tests() {
    let Some(built_in) = lists("required") else { return };
    for (version, release) in Required::known(&built_in) {
        let required = Required::embedded(&built_in, release).unwrap().unwrap();
        assert_eq!(required.release, release);
        assert!((380..600).contains(&required.names.len()), "{version}: {}", required.names.len());
        assert!(required.names.iter().all(|name| name.contains("[Conformance]")), "{version}");
        assert!(required.source.contains(version));
    }
    assert_eq!(Required::known(&built_in).count(), 9);
}

#[test]
fn required_tests_are_tests_of_their_version() {
    let Some((tests, required)) = lists("tests").zip(lists("required")) else { return };
    let mut compared = 0;
    for (version, release) in Required::known(&required) {
        let required = Required::embedded(&required, release).unwrap().unwrap();
        let Some(list) = tests.exact(version) else { continue };
        let list = list.unwrap();
        let unknown: Vec<_> = required.names.iter().filter(|name| list.tests.binary_search(name).is_err()).collect();
        assert!(unknown.is_empty(), "{version}: {unknown:?}");
        compared += 1;
    }
    assert_eq!(compared, 7);
}

/// Names of required tests, with the first version whose sources have them. The sources are
/// `test/conformance/testdata/conformance.yaml` in the module `k8s.io/kubernetes`. The names below
/// did not change in later versions.
const SINCE: &[(&str, &str)] = &[
    ("v1.29", "[sig-network] Services should serve endpoints on same port and different protocols [Conformance]"),
    (
        "v1.29",
        "[sig-storage] StorageClasses CSI Conformance should run through the lifecycle of a StorageClass [Conformance]",
    ),
    ("v1.30", "[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface [Conformance]"),
    (
        "v1.30",
        "[sig-storage] VolumeAttachment Conformance should run through the lifecycle of a VolumeAttachment [Conformance]",
    ),
    (
        "v1.31",
        "[sig-apps] Job should allow to use the pod failure policy on exit code to fail the job early [Conformance]",
    ),
    (
        "v1.32",
        "[sig-auth] ServiceAccounts should create a serviceAccountToken and ensure a successful TokenReview [Conformance]",
    ),
    ("v1.32", "[sig-node] Node Lifecycle should run through the lifecycle of a node [Conformance]"),
    (
        "v1.33",
        "[sig-apps] Job should execute all indexes despite some failing when using backoffLimitPerIndex [Conformance]",
    ),
    ("v1.33", "[sig-apps] Job with successPolicy should succeeded when all indexes succeeded [Conformance]"),
    ("v1.34", "[sig-api-machinery] OrderedNamespaceDeletion namespace deletion should delete pod first [Conformance]"),
    ("v1.34", "[sig-network] ServiceCIDR and IPAddress API should support ServiceCIDR API operations [Conformance]"),
    ("v1.35", "[sig-network] EndpointsController should create Endpoints for Pods matching a Service [Conformance]"),
    ("v1.35", "[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceClaim [Conformance]"),
    (
        "v1.36",
        "[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should mutate a Deployment [Conformance]",
    ),
    (
        "v1.37",
        "[sig-auth] PodCertificateRequest API [Privileged:ClusterAdmin] should support PodCertificateRequest API operations [Conformance]",
    ),
    ("v1.37", "[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 DeviceTaintRule [Conformance]"),
];

#[test]
fn required_tests_are_in_the_lists_from_their_first_version_on() {
    let Some(built_in) = lists("required") else { return };
    let (mut versions, mut first) = (0, BTreeSet::new());
    for (version, release) in Required::known(&built_in) {
        let required = Required::embedded(&built_in, release).unwrap().unwrap().names;
        for (since, name) in SINCE {
            let since: Release = since.parse().unwrap();
            assert_eq!(required.contains(*name), since <= release, "{version}: {name}");
            first.insert(since);
        }
        versions += 1;
    }
    assert_eq!(first.len(), versions, "each version has a test that its sources were the first to have");
}

/// Compares the lists with the sources that are in Go's module cache, for example because the
/// end-to-end tests built that version.
#[test]
fn required_tests_are_those_of_the_sources() {
    let cache = Command::new("go").args(["env", "GOMODCACHE"]).env("GOTOOLCHAIN", "local").output();
    let cache = cache.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let cache = String::from_utf8(cache).unwrap();
    let Some(built_in) = lists("required") else { return };
    for (version, release) in Required::known(&built_in) {
        let module = Path::new(cache.trim()).join(format!("k8s.io/kubernetes@{version}"));
        let Ok(yaml) = fs::read_to_string(module.join("test/conformance/testdata/conformance.yaml")) else {
            eprintln!("SKIPPED: required tests of {version}: its sources are not in the module cache of Go");
            continue;
        };
        let source = Required::from_yaml(&yaml, release, version).unwrap();
        assert_eq!(Required::embedded(&built_in, release).unwrap().unwrap().names, source.names, "{version}");
    }
}

#[test]
fn the_documentation_has_the_number_of_required_tests_of_each_version() {
    let page = include_str!("../../../../docs/submission.md");
    let documented: Vec<&str> = page.lines().filter(|line| line.starts_with("| v1.")).collect();
    let Some(built_in) = lists("required") else { return };
    let numbers = Required::known(&built_in).map(|(version, release)| {
        let required = Required::embedded(&built_in, release).unwrap().unwrap();
        format!("| {release} | {version} | {} |", required.names.len())
    });
    assert_eq!(documented, numbers.collect::<Vec<_>>());
}

#[test]
fn the_list_of_an_older_version_does_not_make_a_submission_complete() {
    let built_in = Embedded::new([("v1.28.9", &b"b [Conformance]"[..]), ("v1.29.1", &b"a [Conformance]"[..])]);
    let of = |release: &str| Required::embedded(&built_in, release.parse().unwrap()).unwrap();
    assert_eq!(of("v1.30").unwrap().release, "v1.29".parse().unwrap());
    assert_eq!(of("v1.27"), None);
    let mut newer = Submission::good();
    newer.required.as_mut().unwrap().release = "v1.29".parse().unwrap();
    let findings = newer.check();
    let finding = findings.iter().find(|finding| finding.rule == "required-tests").unwrap();
    assert_eq!(finding.outcome, Outcome::NotChecked);
    assert!(
        finding.what.starts_with("the required tests of v1.30 are not known; 2 of the 2 of v1.29 ran"),
        "{finding:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// An assembled submission passes, whatever its tests are called.
    #[test]
    fn assembled_is_in_order(names in prop::collection::btree_set("[ -~äß]{1,30}", 1..20), prefixed in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let place = SubmissionPath::new(release(), "engine").unwrap();
        let done = assemble(&place, dir.path(), &mut |name, out| match name {
            "PRODUCT.yaml" => out.write_all(PRODUCT.as_bytes()),
            _ => out.write_all(b"content"),
        }).unwrap();
        let files: Vec<FoundFile> = fs::read_dir(&done.folder).unwrap().map(|entry| {
            let entry = entry.unwrap();
            FoundFile { path: format!("{place}/{}", entry.file_name().to_str().unwrap()), bytes: entry.metadata().unwrap().len() }
        }).collect();
        let product = fs::read_to_string(done.folder.join("PRODUCT.yaml")).unwrap();
        // Names in the suite's list are already clean.
        let names: BTreeSet<String> = names.iter().map(|name| plumbline_conformance::submission::cleaned(&format!("{name} [Conformance]")).into_owned()).collect();
        let mut document = String::new();
        for name in &names {
            // Escape once more than XML requires, as reporters do.
            let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&amp;#39;").replace('"', "&amp;#34;");
            document.push_str(&format!("<testcase name='{}{name}'/>", if prefixed { "[It] " } else { "" }));
        }
        let cases = cases(&document);
        let names = if prefixed { names } else { names.iter().map(|name| name.strip_prefix("[It] ").unwrap_or(name).to_owned()).collect() };
        let submission = Submission { files, product, cases, required: Some(Required { release: release(), names, source: String::new() }), ..Submission::good() };
        prop_assert_eq!(submission.broken(), Vec::<&str>::new());
    }
}
