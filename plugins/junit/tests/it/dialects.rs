//! Tests of the dialect of each tool, as snapshots of the trees. After an intended change, run
//! `INSTA_UPDATE=always cargo test -p plumbline-module-junit` and review the difference.

use std::fs;

use plumbline_sdk::testing::Run;

use crate::common;

fn dialect(name: &str) -> Run {
    let bytes = fs::read(common::data(&format!("dialects/{name}.xml"))).unwrap();
    let run = common::read(bytes.clone());
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, common::shown(&run));
    });
    for piece in [1, 5, 100] {
        assert_eq!(common::read_in_pieces(bytes.clone(), piece), run, "{piece} bytes at a time");
    }
    run
}

/// Returns the numbers of passed, failed and skipped test cases.
fn counts(run: &Run) -> (usize, usize, usize) {
    use plumbline_sdk::Status::{Failed, Passed, Skipped};
    (run.count(&Passed), run.count(&Failed), run.count(&Skipped))
}

#[test]
fn pytest() {
    assert_eq!(counts(&dialect("pytest")), (2, 2, 2));
}

#[test]
fn surefire() {
    let run = dialect("surefire");
    assert_eq!(counts(&run), (2, 2, 1));
    assert_eq!(common::text(&run, "readsConfig", "system-err"), "config: end of data, ]]> expected\n");
    assert!(common::text(&run, "removesRoute", "rerunFailure").contains("second attempt"));
}

#[test]
fn gradle() {
    assert_eq!(counts(&dialect("gradle")), (1, 1, 1));
}

#[test]
fn jest() {
    assert_eq!(counts(&dialect("jest")), (1, 2, 1));
}

#[test]
fn gotestsum() {
    // A package without tests is a suite without test cases, which is skipped.
    assert_eq!(counts(&dialect("gotestsum")), (2, 2, 2));
}

#[test]
fn ginkgo_1() {
    assert_eq!(counts(&dialect("ginkgo-v1")), (1, 1, 2));
}

#[test]
fn ginkgo_2() {
    // The setup node is not a test.
    assert_eq!(counts(&dialect("ginkgo-v2")), (0, 2, 2));
}

#[test]
fn phpunit() {
    let run = dialect("phpunit");
    assert_eq!(counts(&run), (3, 2, 1));
    // The levels are the file, the suite without a name, `unit`, the class, the method with data
    // sets, and the test.
    assert_eq!(run.item("testRounds with data set #0").unwrap().depth, 5);
    assert_eq!(run.items[1].name, "testsuite-001");
}

#[test]
fn dotnet_logger() {
    let run = dialect("dotnet-logger");
    assert_eq!(counts(&run), (2, 1, 1));
    assert!(run.item("Agent.Tests.LogTests").is_some(), "a test case without a name is called like its class");
}

#[test]
fn nunit_transformed() {
    assert_eq!(counts(&dialect("nunit-transform")), (2, 1, 2));
}
