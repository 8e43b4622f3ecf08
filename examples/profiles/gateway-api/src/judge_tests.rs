use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Status};

use super::*;

const EVIDENCE: &str = "plugins/gateway-api/results/global";

/// A report of two core tests, of which one was skipped, and of one extended test.
const REPORT_YAML: &str = "\
apiVersion: gateway.networking.k8s.io/v1
date: '2026-07-30T11:47:27+02:00'
gatewayAPIChannel: experimental
gatewayAPIVersion: v1.6.1
implementation: {contact: ['@acme/team'], organization: acme, project: gw, url: 'https://acme.example/', version: v2.14.0}
kind: ConformanceReport
mode: default
profiles:
- core:
    result: partial
    skippedTests: [B]
    statistics: {Failed: 0, Passed: 1, Skipped: 1}
  extended:
    result: success
    statistics: {Failed: 0, Passed: 1, Skipped: 0}
    supportedFeatures: [F]
    unsupportedFeatures: [G]
  name: GATEWAY-HTTP
  summary: Core tests partially succeeded with 1 test skips. Extended tests succeeded.
succeededProvisionalTests: [C]
";

const SELECTION: &str = r#"{"profiles":["GATEWAY-HTTP"],"maxTimeToConsistency":30,"skipProvisional":false,"tests":{
"A":{"levels":{"GATEWAY-HTTP":"core"},"supported":true},
"B":{"levels":{"GATEWAY-HTTP":"core"},"supported":true},
"C":{"levels":{"GATEWAY-HTTP":"extended"},"supported":true,"provisional":true},
"D":{"levels":{"GATEWAY-HTTP":"extended"},"supported":false},
"E":{"levels":{},"supported":true}}}"#;

/// A run, whose files and results tests change.
struct Run {
    report: Option<String>,
    selection: Option<String>,
    accept: String,
    results: Vec<(&'static str, Status)>,
}

impl Run {
    fn new() -> Self {
        use Status::{Passed, Skipped};
        Self {
            report: Some(REPORT_YAML.to_owned()),
            selection: Some(SELECTION.to_owned()),
            accept: "partial".to_owned(),
            results: vec![
                ("A", Passed),
                ("A/sub", Passed),
                ("B", Skipped),
                ("C", Passed),
                ("D", Skipped),
                ("E", Passed),
            ],
        }
    }

    fn report(mut self, from: &str, to: &str) -> Self {
        let report = self.report.unwrap();
        assert!(report.contains(from), "{from}");
        self.report = Some(report.replace(from, to));
        self
    }

    fn selection(mut self, from: &str, to: &str) -> Self {
        let selection = self.selection.unwrap();
        assert!(selection.contains(from), "{from}");
        self.selection = Some(selection.replace(from, to));
        self
    }

    fn result(mut self, name: &str, status: Option<Status>) -> Self {
        self.results.retain(|(known, _)| *known != name || status.is_some());
        for (known, old) in &mut self.results {
            if let Some(status) = status.clone().filter(|_| *known == name) {
                *old = status;
            }
        }
        self
    }

    /// Returns the checks that did not pass: ID, outcome and reason.
    fn wrong(self) -> Vec<String> {
        let item = |(name, status): (&str, Status)| Item::new(1, format!("TestConformance/{name}")).status(status);
        let file = Item::new(0, "tests.json").status(Status::Passed);
        let mut case = Case::new().results("global", [file].into_iter().chain(self.results.into_iter().map(item)));
        case = case.file("data/accept", self.accept);
        if let Some(report) = self.report {
            case = case.file(format!("{EVIDENCE}/report.yaml"), report);
        }
        if let Some(selection) = self.selection {
            case = case.file(format!("{EVIDENCE}/selection.json"), selection);
        }
        let judged = case.judge::<GatewayReport>();
        assert_eq!(judged.outcome, Ok(()));
        let open = judged.checks.iter().filter(|check| check.outcome != Outcome::Passed);
        open.map(|check| format!("{} {:?}: {}", check.id, check.outcome, check.reason)).collect()
    }
}

#[test]
fn a_report_that_says_what_happened_passes() {
    assert!(Run::new().wrong().is_empty(), "{:?}", Run::new().wrong());
}

/// A test in Go compares this report with the type of the Gateway API project.
#[test]
fn a_report_with_every_field_of_the_project_is_read() {
    let whole = include_str!("../suite/schema/report.yaml");
    let wrong = Run { report: Some(whole.to_owned()), ..Run::new() }.wrong();
    assert!(wrong.iter().all(|check| !check.starts_with("GWAPI-REPORT ")), "{wrong:?}");
    assert!(wrong.iter().any(|check| check.contains("core tests that failed: C")), "{wrong:?}");
}

#[test]
fn a_partial_report_passes_only_if_it_is_accepted() {
    let run = Run { accept: "success\n".to_owned(), ..Run::new() };
    assert_eq!(run.wrong(), ["GWAPI-RESULT-GATEWAY-HTTP Failed: core tests that were skipped: B"]);
}

#[test]
fn without_a_report_nothing_passes() {
    let none = Run { report: None, ..Run::new() };
    assert_eq!(none.wrong(), ["GWAPI-REPORT Unknown: the suite wrote no report"]);
    for (from, to) in [
        ("kind: ConformanceReport", "kind: Report"),
        ("gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1alpha1"),
        ("mode: default", "mode: default\nnote: edited"),
        ("mode: default\n", ""),
        ("Failed: 0, Passed: 1, Skipped: 1", "Failed: -1, Passed: 1, Skipped: 1"),
        ("result: partial", "result: passed"),
        ("kind:", "  kind:"),
    ] {
        let wrong = Run::new().report(from, to).wrong();
        assert!(wrong.len() == 1 && wrong[0].starts_with("GWAPI-REPORT Failed: "), "{to}: {wrong:?}");
    }
    let empty = Run { report: Some(String::new()), ..Run::new() };
    assert!(empty.wrong()[0].starts_with("GWAPI-REPORT Failed: "));
}

#[test]
fn a_report_without_profiles_passes_nothing() {
    let (head, _) = REPORT_YAML.split_once("profiles:").unwrap();
    for profiles in ["profiles: null\n", "profiles: []\n"] {
        let run = Run { report: Some(format!("{head}{profiles}")), ..Run::new() };
        assert_eq!(run.wrong(), ["GWAPI-PROFILES Failed: "], "{profiles}");
    }
    // No profile was selected either.
    let run = Run { report: Some(format!("{head}profiles: []\n")), ..Run::new() };
    let run = run.selection("[\"GATEWAY-HTTP\"]", "[]");
    assert_eq!(run.wrong(), ["GWAPI-PROFILES Failed: "]);
}

#[test]
fn a_report_that_contradicts_the_results_fails() {
    let check = "GWAPI-TESTS-GATEWAY-HTTP Failed: ";
    let reason_of = |run: Run| {
        let wrong = run.wrong();
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        wrong[0].strip_prefix(check).unwrap_or_else(|| panic!("{wrong:?}")).to_owned()
    };
    // A parallel test runs after the report was written.
    let late = reason_of(Run::new().result("C", Some(Status::Failed)));
    assert_eq!(
        late,
        "extended: the report has 1 passed, 0 failed, 0 skipped, the tests have 0 passed, 1 failed, 0 skipped; extended: report and results have other failed tests: C"
    );
    // A test that `-test.run` leaves out is counted as passed.
    let absent = reason_of(Run::new().result("A", None));
    assert!(
        absent.starts_with("1 of its tests have no result: A; no core test passed; core: the report has"),
        "{absent}"
    );
    // A test that was skipped is counted as passed.
    assert!(reason_of(Run::new().result("A", Some(Status::Skipped))).starts_with("no core test passed; core: "));
    // A test without a status that is known counts as failed.
    assert!(reason_of(Run::new().result("A", Some(Status::Unknown))).contains("other failed tests: A"));
    // Numbers and lists must agree too.
    let hidden = reason_of(Run::new().report("skippedTests: [B]", "skippedTests: []"));
    assert_eq!(hidden, "core: report and results have other skipped tests: B");
    let nicer = reason_of(Run::new().report("result: partial", "result: success"));
    assert_eq!(nicer, "core: the result is `success`, with 1 passed, 0 failed, 1 skipped");
}

#[test]
fn a_failure_in_the_report_fails_also_if_the_test_was_excused() {
    let failed = Run::new()
        .report("skippedTests: [B]", "failedTests: [B]")
        .report("result: partial", "result: failure")
        .report("Failed: 0, Passed: 1, Skipped: 1", "Failed: 1, Passed: 1, Skipped: 0")
        .result("B", Some(Status::Failed));
    assert_eq!(failed.wrong(), ["GWAPI-RESULT-GATEWAY-HTTP Failed: core tests that failed: B"]);
}

#[test]
fn tests_that_do_not_count_may_end_as_they_do() {
    assert!(Run::new().result("E", Some(Status::Skipped)).wrong().is_empty());
    // Without the feature, a test is in no statistics, unless it fails.
    assert!(Run::new().result("D", Some(Status::Passed)).wrong().is_empty());
    assert!(!Run::new().result("D", Some(Status::Failed)).wrong().is_empty());
    // A provisional test that is left out is in no statistics either, although it runs.
    let (before, rest) = REPORT_YAML.split_once("  extended:").unwrap();
    let (_, after) = rest.split_once("  name:").unwrap();
    let run = Run { report: Some(format!("{before}  name:{after}")), ..Run::new() };
    assert!(run.selection("\"skipProvisional\":false", "\"skipProvisional\":true").wrong().is_empty());
}

#[test]
fn other_rules_have_checks_of_their_own() {
    for (from, to, check) in [
        ("organization: acme", "organization: ''", "GWAPI-IMPLEMENTATION"),
        ("version: v2.14.0", "version: main", "GWAPI-IMPLEMENTATION"),
        ("gatewayAPIVersion: v1.6.1", "gatewayAPIVersion: UNDEFINED", "GWAPI-API"),
        ("gatewayAPIChannel: experimental", "gatewayAPIChannel: nightly", "GWAPI-API"),
        ("mode: default", "mode: ''", "GWAPI-MODE"),
    ] {
        let wrong = Run::new().report(from, to).wrong();
        assert!(wrong.len() == 1 && wrong[0].starts_with(&format!("{check} Failed: ")), "{to}: {wrong:?}");
    }
    let slow = Run::new().selection("\"maxTimeToConsistency\":30", "\"maxTimeToConsistency\":31.5");
    assert_eq!(slow.wrong(), ["GWAPI-TIMEOUTS Failed: "]);
    let other = Run::new().selection("[\"GATEWAY-HTTP\"]", "[\"GATEWAY-HTTP\",\"GATEWAY-TLS\"]");
    assert_eq!(other.wrong(), ["GWAPI-PROFILES Failed: "]);
}

#[test]
fn what_was_selected_must_be_known() {
    let missing = Run { selection: None, ..Run::new() }.wrong();
    assert_eq!(missing, ["GWAPI-PROFILES Unknown: `selection.json` not found: the suite selected no test"]);
    let damaged = Run { selection: Some("{".to_owned()), ..Run::new() }.wrong();
    assert!(damaged[0].starts_with("GWAPI-PROFILES Unknown: `selection.json`: "), "{damaged:?}");
}

#[test]
fn a_word_that_decides_what_passes_must_be_known() {
    let judged = Case::new().file("data/accept", "anything").judge::<GatewayReport>();
    assert_eq!(judged.outcome, Err("`accept` is `anything`, and not `success` or `partial`".to_owned()));
    let unreadable = Case::new().broken_file("data/accept", "", "the disk is gone").judge::<GatewayReport>();
    assert!(unreadable.outcome.unwrap_err().contains("the disk is gone"));
}
