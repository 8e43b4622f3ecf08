//! Tests of failures that are easy to miss.

use plumbline_sdk::Status;

use crate::common;

fn status(document: &str) -> String {
    for piece in [1, 7, 1 << 20] {
        assert_eq!(common::read_in_pieces(document, piece), common::read(document), "{piece} bytes at a time");
    }
    common::rolled_up(&common::read(document), "root")["status"].as_str().unwrap().to_owned()
}

const PASSED: &str = "<testsuite name='s'><testcase name='t'/></testsuite>";
const FAILED: &str =
    "<testsuites><testsuite name='u'><testcase name='v'><failure/></testcase></testsuite></testsuites>";

#[test]
fn a_second_report_in_the_file_is_read() {
    for between in ["", "\n", "\0\0", "\u{FEFF}", "<!-- x -->", "<?xml version='1.0'?>\n"] {
        assert_eq!(status(&format!("{PASSED}{between}{FAILED}")), "failed", "{between}");
        assert_eq!(status(&format!("{PASSED}{between}{PASSED}")), "passed", "{between}");
    }
    let run = common::read(format!("{PASSED}{FAILED}"));
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: passed\n  u: -\n    v: failed\n");
}

#[test]
fn other_content_after_the_report_makes_the_file_unknown() {
    for (rest, reason) in [
        ("FAILED", "text follows the end of the report, at byte"),
        ("&lt;", "text follows the end of the report, at byte"),
        ("<html/>", "element `html` follows the end of the report, at byte"),
        ("<testcase name='x'><failure/></testcase>", "element `testcase` follows the end of the report, at byte"),
        ("</testsuite>", "`</testsuite>` has no start tag, at byte"),
        ("<", "the file ends early"),
    ] {
        let document = format!("{PASSED}{rest}");
        assert_eq!(status(&document), "unknown", "{rest}");
        let run = common::read(document);
        assert!(common::error(&run).starts_with(reason), "{rest}: {}", common::error(&run));
        assert_eq!(run.item("t").unwrap().status, Some(Status::Passed));
    }
    assert_eq!(status(&format!("{PASSED}\n <!-- the end -->\n")), "passed");
}

#[test]
fn totals_above_what_is_listed_are_never_green() {
    for (totals, cases, want) in [
        ("tests='2' failures='1'", "<testcase name='t'/>", "unknown"),
        ("tests='2' errors='1'", "<testcase name='t'/>", "unknown"),
        ("tests='2' failures='1.0'", "<testcase name='t'/>", "unknown"),
        ("tests='2' failures='1'", "", "unknown"),
        ("tests='2'", "", "unknown"),
        ("tests='2' failures='1'", "<testcase name='t'><skipped/></testcase>", "unknown"),
        ("tests='1' failures='1'", "<testcase name='t'><failure/></testcase>", "failed"),
        // One element for each failed assertion, and totals that count these.
        ("tests='9' failures='3'", "<testcase name='t'><failure/><failure/><failure/></testcase>", "failed"),
        // Totals that count failed attempts before a successful one.
        ("tests='1' failures='1'", "<testcase name='t'><flakyFailure/></testcase>", "passed"),
        ("tests='1' failures='1'", "<error message='teardown'/><testcase name='t'/>", "failed"),
        ("tests='many' failures='' errors='-1'", "<testcase name='t'/>", "passed"),
        ("tests='500' failures='0' errors='0'", "<testcase name='t'/>", "passed"),
    ] {
        let document = format!("<testsuite name='s' {totals}>{cases}</testsuite>");
        assert_eq!(status(&document), want, "{document}");
        let outer = format!("<testsuites {totals}><testsuite name='s'>{cases}</testsuite></testsuites>");
        assert_eq!(status(&outer), want, "{outer}");
    }
}

#[test]
fn missing_failures_are_reported_once_and_with_numbers() {
    let run = common::read(
        "<testsuites failures='2' errors='1'><testsuite name='s' failures='2'><testsuite name='i' failures='2'>\
         <testcase name='t'><failure/></testcase></testsuite></testsuite>\
         <testsuite name='u' errors='1'><testcase name='v'><error/></testcase></testsuite></testsuites>",
    );
    let want =
        "junit.xml: -\n  s: -\n    i: -\n      t: failed\n      missing failures: unknown\n  u: -\n    v: failed\n";
    assert_eq!(run.outline(), want);
    let item = run.item("missing failures").unwrap();
    let reason = "the totals state 2 failures and errors, but the test cases show 1";
    assert_eq!(item.meta, [("error".to_owned(), reason.to_owned())]);
}

#[test]
fn totals_below_what_is_listed_are_logged() {
    let run =
        common::read("<testsuite name='s' tests='1' failures='0'><testcase name='t'><failure/></testcase></testsuite>");
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: failed\n");
    let logged = run.log.iter().any(|line| format!("{line:?}").contains("more test cases failed than the totals"));
    assert!(logged, "{:?}", run.log);
    let run = common::read(common::suite("<testcase name='t'><failure/></testcase>"));
    assert!(run.log.is_empty(), "a suite without totals: {:?}", run.log);
}

#[test]
fn failed_test_cases_are_found_wherever_they_are() {
    for inside in [
        "<testcase name='o'><testcase name='t'><failure/></testcase></testcase>",
        "<testcase name='o'><steps><testcase name='t'><failure/></testcase></steps></testcase>",
        "<group><testcase name='t'><failure/></testcase></group>",
        "<group><testsuite name='i'><testcase name='t'><failure/></testcase></testsuite></group>",
        "<properties><testcase name='t'><failure/></testcase></properties>",
        "<testCase name='t'><failure/></testCase>",
        "<TESTCASE name='t'><Failure/></TESTCASE>",
        "<testcase name='t'><ERROR/></testcase>",
        "<testSuite name='i'><testcase name='t'><failure/></testcase></testSuite>",
        "<testcase name='t' status='failed'/>",
        "<testcase name='t' status='Error'><system-out>x</system-out></testcase>",
    ] {
        let document = common::suite(inside);
        assert_eq!(status(&document), "failed", "{inside}");
        assert_eq!(common::read(document).item("t").unwrap().status, Some(Status::Failed), "{inside}");
    }
    assert_eq!(
        status("<TestSuites><TestSuite name='s'><TestCase name='t'><failure/></TestCase></TestSuite></TestSuites>"),
        "failed"
    );
    let run = common::read(common::suite("<testcase name='o'><testcase name='t'><failure/></testcase></testcase>"));
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: failed\n    o: passed\n");
}

#[test]
fn a_test_that_did_not_run_never_passes() {
    let of = |case: &str| {
        let run = common::read(common::suite(case));
        (run.item("t").unwrap().status.clone(), run.item("t").unwrap().meta.iter().any(|(key, _)| key == "duration"))
    };
    for word in ["skipped", "SKIPPED", "skip", "pending", "disabled", "ignored", "notrun"] {
        let case = format!("<testcase name='t' time='1' status='{word}'><system-out>no</system-out></testcase>");
        assert_eq!(of(&case), (Some(Status::Skipped), false), "{word}");
        let failed = format!("<testcase name='t' time='1' status='{word}'><failure/></testcase>");
        assert_eq!(of(&failed), (Some(Status::Failed), true), "{word}");
    }
    assert_eq!(of("<testcase name='t' time='1' status='run'/>"), (Some(Status::Passed), true));
}

#[test]
fn nesting_that_makes_no_sense_makes_the_file_unknown() {
    let deep = format!("{}{}", "<testcase name='t'>".repeat(20), "</testcase>".repeat(20));
    for (inside, reason) in [
        (
            "<testcase name='t'><testsuite><testcase name='x'><failure/></testcase></testsuite></testcase>",
            "element `testsuite` is inside a test case",
        ),
        (deep.as_str(), "more than 8 test cases are nested"),
    ] {
        let document = common::suite(inside);
        assert_eq!(status(&document), "unknown", "{inside}");
        assert!(common::error(&common::read(document)).starts_with(reason), "{inside}");
    }
}

#[test]
fn disabled_tests_have_not_passed() {
    let run = common::read(common::suite("<testcase name='t' status='notrun' time='0' result='suppressed'/>"));
    assert_eq!(run.item("t").unwrap().status, Some(Status::Skipped));
}
