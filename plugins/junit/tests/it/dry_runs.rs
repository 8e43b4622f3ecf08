//! Tests of dry runs of Ginkgo, which reports tests as passed that it did not run.

use plumbline_sdk::testing::Case;

use crate::common;

const DRY_RUN: &str = "<property name='DryRun' value='true'></property>";

/// Returns the status of the whole report.
fn status(document: &str) -> String {
    let run = common::read(document);
    for piece in [1, 7] {
        assert_eq!(common::read_in_pieces(document, piece), run, "{piece} bytes at a time");
    }
    common::rolled_up(&run, "root")["status"].as_str().unwrap().to_owned()
}

#[test]
fn no_test_of_a_dry_run_has_passed() {
    let document = common::suite(&format!(
        "<properties><property name='FailFast' value='false'></property>{DRY_RUN}</properties>\
         <testcase name='[SynchronizedBeforeSuite]' status='passed' time='0'></testcase>\
         <testcase name='[It] a' classname='s' status='passed' time='0.001'></testcase>\
         <testcase name='[It] b' classname='s' status='skipped'><skipped message='skipped'></skipped></testcase>"
    ));
    assert_eq!(status(&document), "skipped");
    for keep in [Vec::new(), vec!["properties"]] {
        let case = Case::new().file("results/global/junit.xml", document.clone()).option("keep", keep.clone());
        let run = common::run(&case);
        let want = "junit.xml: -\n  s: -\n    [It] a: skipped\n    [It] b: skipped\n";
        assert_eq!(run.outline(), want, "keep {keep:?}");
        assert_eq!(common::text(&run, "[It] a", "skipped"), "the test did not run: the report is of a dry run");
        assert!(run.item("[It] a").unwrap().meta.is_empty(), "it has no duration");
        assert!(run.item("[It] b").unwrap().details.is_empty(), "it was not selected");
        assert_eq!(common::text(&run, "s", "setup-nodes"), "[SynchronizedBeforeSuite]: skipped");
    }
    let above =
        format!("<testsuites><properties>{DRY_RUN}</properties>{}</testsuites>", common::suite("<testcase name='t'/>"));
    assert_eq!(status(&above), "skipped");
}

#[test]
fn a_failure_in_a_dry_run_counts() {
    for inside in ["<failure message='m'/>", "<error/>", "<skipped/><error/>"] {
        let case = format!("<properties>{DRY_RUN}</properties><testcase name='t'>{inside}</testcase>");
        assert_eq!(status(&common::suite(&case)), "failed", "{inside}");
    }
    let loose = format!("<properties>{DRY_RUN}</properties><testcase name='t'/><error message='setup'/>");
    assert_eq!(status(&common::suite(&loose)), "failed");
    // The end of the file may hide anything.
    let cut = format!("<testsuite name='s'><properties>{DRY_RUN}</properties><testcase name='t'>");
    assert_eq!(status(&cut), "unknown");
}

#[test]
fn a_dry_run_is_that_of_its_suite_alone() {
    let ran = "<testsuite name='ran'><properties><property name='DryRun' value='false'/></properties>\
        <testcase name='c'/></testsuite>";
    let document = format!(
        "<testsuites><testsuite name='dry'><properties>{DRY_RUN}</properties><testcase name='a'/>\
         <testsuite name='inner'><testcase name='b'/></testsuite></testsuite>{ran}</testsuites>"
    );
    let want = "junit.xml: -\n  dry: -\n    a: skipped\n    inner: -\n      b: skipped\n  ran: -\n    c: passed\n";
    assert_eq!(common::read(document).outline(), want);
    // A further report in the file.
    let dry = common::suite(&format!("<properties>{DRY_RUN}</properties><testcase name='t'/>"));
    let want = "junit.xml: -\n  s: -\n    t: skipped\n  ran: -\n    c: passed\n";
    assert_eq!(common::read(format!("{dry}{ran}")).outline(), want);
}

#[test]
fn other_properties_do_not_make_a_dry_run() {
    for properties in [
        "<property name='DryRun' value='false'/>",
        "<property name='DryRun'/>",
        "<property name='DryRun' value=''/>",
        "<property name='dryRun' value='true'/>",
        "<property name='MyDryRun' value='true'/>",
        "<property value='true'/>",
    ] {
        let document = common::suite(&format!("<properties>{properties}</properties><testcase name='t'/>"));
        assert_eq!(status(&document), "passed", "{properties}");
    }
    // A test may be about dry runs.
    let of_test = format!("<testcase name='t'><properties>{DRY_RUN}</properties></testcase><testcase name='u'/>");
    for keep in [Vec::new(), vec!["properties"]] {
        let case = Case::new().file("results/global/junit.xml", common::suite(&of_test)).option("keep", keep);
        assert_eq!(common::run(&case).outline(), "junit.xml: -\n  s: -\n    t: passed\n    u: passed\n");
    }
    let printed = format!("<testcase name='t'><system-out>{DRY_RUN}</system-out></testcase>");
    assert_eq!(status(&common::suite(&printed)), "passed");
}

#[test]
fn a_dry_run_that_is_stated_after_its_tests_is_unknown() {
    let case = format!("<testcase name='a'/><properties>{DRY_RUN}{DRY_RUN}</properties><testcase name='b'/>");
    let document = common::suite(&case);
    assert_eq!(status(&document), "unknown");
    let run = common::read(document);
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    a: passed\n    dry run: unknown\n    b: skipped\n");
    let reason = "the property `DryRun` follows test cases, which then did not run";
    assert_eq!(run.item("dry run").unwrap().meta, [("error".to_owned(), reason.to_owned())]);
}
