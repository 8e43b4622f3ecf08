//! Tests of failures that are easy to miss.

use plumbline_sdk::testing::Case;
use plumbline_sdk::{Detail, Status};

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
        ("tests='1' failures='many'", "<testcase name='t'/>", "unknown"),
        ("tests='1' errors='1 failed'", "<testcase name='t'/>", "unknown"),
        ("tests='1' FAILURES='1'", "<testcase name='t'/>", "unknown"),
        ("tests='1' failures='99999999999999999999'", "<testcase name='t'/>", "unknown"),
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
fn further_attempts_cover_for_failures_only_if_the_totals_count_them() {
    for (totals, cases, want) in [
        // Surefire with JUnit 4, and Gradle: `tests` counts each attempt.
        ("tests='2' failures='1'", "<testcase name='t'><flakyFailure/></testcase>", "passed"),
        (
            "tests='7' errors='2' failures='1'",
            "<testcase name='a'/><testcase name='b'><skipped/></testcase><testcase name='c'><flakyFailure/></testcase>\
             <testcase name='d'><flakyError/><flakyError/></testcase>",
            "passed",
        ),
        // Surefire with JUnit 5: totals of the last attempt. nextest: totals of test cases.
        ("tests='1' failures='0'", "<testcase name='t'/><testcase name='u'><flakyError/></testcase>", "passed"),
        ("tests='1' failures='0'", "<testcase name='t'><flakyFailure/></testcase>", "passed"),
        ("tests='1' failures='1'", "<testcase name='t'><flakyFailure/></testcase>", "unknown"),
        ("failures='1'", "<testcase name='t'><flakyFailure/></testcase>", "unknown"),
        ("tests='3' failures='1'", "<testcase name='t'><flakyFailure/></testcase>", "unknown"),
        ("tests='2' failures='2'", "<testcase name='t'><flakyFailure/></testcase>", "unknown"),
        ("tests='2' failures='1'", "<testcase name='t'><warning/></testcase>", "unknown"),
    ] {
        let document = format!("<testsuite name='s' {totals}>{cases}</testsuite>");
        assert_eq!(status(&document), want, "{document}");
        let outer = format!("<testsuites {totals}><testsuite name='s'>{cases}</testsuite></testsuites>");
        assert_eq!(status(&outer), want, "{outer}");
        let both = format!("<testsuites {totals}>{document}</testsuites>");
        assert_eq!(status(&both), want, "{both}");
    }
    let merged = |totals: &str| {
        format!(
            "<testsuites {totals}><testsuite name='surefire' tests='4' failures='3'><testcase name='a'/>\
             <testcase name='b'><failure/><rerunFailure/><rerunFailure/></testcase></testsuite>\
             <testsuite name='nextest' tests='1' failures='0'><testcase name='c'><flakyFailure/></testcase></testsuite>\
             </testsuites>"
        )
    };
    assert!(common::read(merged("tests='5' failures='3'")).item("missing failures").is_none());
    assert!(common::read(merged("tests='5' failures='4'")).item("missing failures").is_some());
}

#[test]
fn totals_that_are_not_numbers_are_reported_with_their_value() {
    let run = common::read("<testsuite name='s' failures='1 failed'><testcase name='t'/></testsuite>");
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: passed\n    invalid totals: unknown\n");
    assert_eq!(common::error(&run), "the attribute `failures` is not a number: `1 failed`");
}

#[test]
fn a_failure_takes_precedence_over_skipped() {
    let run = common::read(common::suite(
        "<testcase name='teardown' time='1'><skipped message='no GPU'/><error message='leak'/></testcase>\
         <testcase name='attribute' status='FAILED'><skipped/></testcase>\
         <testcase name='allowed' status='run'><skipped message='TEST_CASE tagged with !mayfail'/><failure/></testcase>\
         <testcase name='both' status='failed'><skipped message='TEST_CASE tagged with !mayfail'/><failure/></testcase>",
    ));
    let status = |name: &str| run.item(name).unwrap().status.clone();
    assert_eq!(status("teardown"), Some(Status::Failed));
    assert_eq!(common::text(&run, "teardown", "skipped"), "no GPU");
    assert_eq!(common::text(&run, "teardown", "error"), "leak");
    assert_eq!(run.item("teardown").unwrap().meta, [("duration".to_owned(), "1".to_owned())]);
    assert_eq!(status("attribute"), Some(Status::Failed));
    assert_eq!(status("allowed"), Some(Status::Skipped));
    assert_eq!(status("both"), Some(Status::Failed));
    let allowed = "<testcase name='t'><skipped message='TEST_CASE tagged with !mayfail'/><failure/></testcase>";
    let document = format!("<testsuite name='s' tests='2' failures='1'>{allowed}</testsuite>");
    assert!(common::read(document).item("missing failures").is_some(), "an allowed failure is not in the totals");
}

#[test]
fn a_test_case_without_a_name_and_an_outcome_is_unknown() {
    // pytest wrote this after an interrupt.
    let run = common::read(
        "<testsuites><testsuite name='pytest' errors='0' failures='0' skipped='0' tests='1' time='0.2'>\
         <testcase classname='test_b' name='test_one' time='0.001' /><testcase time='0.000' /></testsuite></testsuites>",
    );
    let want = "junit.xml: -\n  pytest: -\n    test_one: passed\n    testcase-002: unknown\n";
    assert_eq!(run.outline(), want);
    let reason = "a test case without a name and without an outcome: the run was interrupted";
    assert_eq!(common::error(&run), reason);
    for (case, want) in [
        ("<testcase name=' '><system-out>x</system-out></testcase>", "unknown"),
        ("<testcase status='passed'/>", "unknown"),
        ("<testcase classname='c'/>", "passed"),
        ("<testcase><skipped/></testcase>", "skipped"),
        ("<testcase status='skipped'/>", "skipped"),
        ("<testcase><failure/></testcase>", "failed"),
    ] {
        assert_eq!(status(&common::suite(case)), want, "{case}");
    }
}

#[test]
fn more_test_cases_than_the_totals_state_are_legitimate() {
    // pytest counts a test once if both its call and its teardown failed.
    let cases = "<testcase name='t'><failure/></testcase><testcase name='t'><error/></testcase>";
    let run = common::read(format!("<testsuite name='s' tests='1' failures='1' errors='1'>{cases}</testsuite>"));
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: failed\n    t: failed\n");
}

#[test]
fn a_failure_counts_wherever_it_is_in_a_test_case() {
    for inside in [
        "<result><failure/></result>",
        "<failures><failure/></failures>",
        "<a><b><c><Error/></c></b></a>",
        "<properties><property name='p'><failure/></property></properties>",
        "<properties><failure/></properties>",
        "<properties><other><error/></other></properties>",
        "<properties><property name='p'><other><error/></other></property></properties>",
        "<skipped><failure/></skipped>",
        "<skipped><a><error/></a></skipped>",
        "<warning><failure/></warning>",
        "<system-out><failure/></system-out><result><failure/></result>",
    ] {
        let document = common::suite(&format!("<testcase name='t'>{inside}</testcase><testcase name='u'/>"));
        for keep in [Vec::new(), vec!["properties"]] {
            let case = Case::new().file("results/global/junit.xml", document.clone()).option("keep", keep.clone());
            let run = common::run(&case);
            let want = "junit.xml: -\n  s: -\n    t: failed\n    u: passed\n";
            assert_eq!(run.outline(), want, "{inside}, keep {keep:?}");
        }
    }
    for inside in [
        "<system-out><failure/></system-out>",
        "<system-err><a><error/></a><testcase name='v'><failure/></testcase></system-err>",
        "<result><system-out><failure/></system-out></result>",
        "<rerunFailure><system-out><failure/></system-out></rerunFailure>",
    ] {
        let document = common::suite(&format!("<testcase name='t'>{inside}</testcase>"));
        assert_eq!(common::read(document).outline(), "junit.xml: -\n  s: -\n    t: passed\n", "{inside}");
    }
    let run = common::read(common::suite("<testcase name='t'><a>x<failure message='m'>y</failure>z</a></testcase>"));
    assert_eq!(common::text(&run, "t", "failure"), "m y");
}

#[test]
fn failures_in_properties_keep_the_properties() {
    let document = "<testsuite name='s'><properties><property name='a' value='1'/><failure>x</failure></properties>\
        <testcase name='t'><properties><property name='b'>2<error>y</error></property></properties></testcase></testsuite>";
    let run = common::run(&Case::new().file("results/global/junit.xml", document).option("keep", vec!["properties"]));
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    failure: failed\n    t: failed\n");
    assert_eq!((common::text(&run, "failure", "failure"), common::text(&run, "t", "error")), ("x", "y"));
    let kept = run.item("t").unwrap().details.iter().find(|(key, _)| key == "properties");
    assert_eq!(kept.unwrap().1, Detail::Json(r#"{"b":"2"}"#.to_owned()));
}

#[test]
fn names_and_values_of_attributes_may_be_in_any_case() {
    let run = common::read(
        "<TESTSUITE NAME='s' TESTS='2' FAILURES='1'><TESTCASE NAME='t' STATUS='FAILED'/>\
         <testcase Name='u' ClassName='c' Time='1'/></TESTSUITE>",
    );
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: failed\n    u: passed\n");
    assert_eq!(run.item("u").unwrap().meta.len(), 2);
    for attributes in ["status='Timed Out'", "status='failed '", "result='timed-out'", "status='failed' result='run'"] {
        assert_eq!(status(&common::suite(&format!("<testcase name='t' {attributes}/>"))), "failed", "{attributes}");
    }
    for attributes in ["status='run' result='skipped'", "Status='NOT_RUN'", "status='notrun' result='suppressed'"] {
        assert_eq!(status(&common::suite(&format!("<testcase name='t' {attributes}/>"))), "skipped", "{attributes}");
    }
}

#[test]
fn a_test_case_whose_outcome_the_tool_does_not_know_is_unknown() {
    for attributes in ["status='unknown'", "result='UNKNOWN '", "status='unknown' result='completed'"] {
        let run = common::read(common::suite(&format!("<testcase name='t' {attributes}/>")));
        let item = run.item("t").unwrap();
        assert_eq!(item.status, Some(Status::Unknown), "{attributes}");
        let error = ("error".to_owned(), "an attribute says that the outcome is unknown".to_owned());
        assert!(item.meta.contains(&error), "{attributes}: {:?}", item.meta);
    }
    for (case, want) in [
        ("<testcase name='t' status='unknown' result='skipped'/>", "skipped"),
        ("<testcase name='t' status='unknown'><skipped/></testcase>", "skipped"),
        ("<testcase name='t' status='failed' result='unknown'/>", "failed"),
        ("<testcase name='t' status='unknown'><error/></testcase>", "failed"),
        ("<testcase name='t' status=''/>", "passed"),
        ("<testcase name='t' status=' ' result='run'/>", "passed"),
    ] {
        assert_eq!(status(&common::suite(case)), want, "{case}");
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
        (
            "<testcase name='t'><skipped><testcase name='x'><failure/></testcase></skipped></testcase>",
            "element `testcase` is inside `skipped`",
        ),
        (
            "<testcase name='t'><rerunFailure><a><testcase name='x'/></a></rerunFailure></testcase>",
            "element `testcase` is inside `rerunFailure`",
        ),
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
