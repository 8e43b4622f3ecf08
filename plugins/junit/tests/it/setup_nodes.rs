//! Tests of Ginkgo's setup nodes.

use crate::common;

#[test]
fn setup_nodes_are_not_tests_unless_they_failed() {
    let run = common::read(
        "<testsuite name='s' tests='7' failures='1'><testcase name='[ReportBeforeSuite]'/>\
         <testcase name='[SynchronizedBeforeSuite]'><system-err>log</system-err></testcase>\
         <testcase name='[It] a'/><testcase name='[BeforeSuiteful] b'/>\
         <testcase name='[AfterSuite]'><failure message='cleanup broke'/></testcase>\
         <testcase name='[DeferCleanup (Suite)]'><skipped/></testcase>\
         <testcase name='[ReportAfterSuite] s report'/></testsuite>",
    );
    let want = "junit.xml: -\n  s: -\n    [It] a: passed\n    [BeforeSuiteful] b: passed\n    [AfterSuite]: failed\n";
    assert_eq!(run.outline(), want);
    assert_eq!(
        common::text(&run, "s", "setup-nodes"),
        "[ReportBeforeSuite]: passed\n[SynchronizedBeforeSuite]: passed"
    );
}

#[test]
fn setup_nodes_alone_are_not_a_passed_run() {
    let run = common::read("<testsuite name='s' tests='1'><testcase name='[BeforeSuite]'/></testsuite>");
    assert_eq!(run.outline(), "junit.xml: -\n  s: skipped\n  no test case: skipped\n");
}

#[test]
fn a_setup_node_that_breaks_off_is_unknown() {
    let run = common::read("<testsuite name='s'><testcase name='[BeforeSuite]'>");
    assert!(run.outline().starts_with("junit.xml: -\n  s: -\n    [BeforeSuite]: unknown\n"), "{}", run.outline());
}
