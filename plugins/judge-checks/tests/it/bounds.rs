//! Tests of hostile checks and logs.

use plumbline_module_checks::{Checks, MAX_CHECKS, MAX_FILE_BYTES, MAX_LINE};
use plumbline_sdk::{Item, Status};
use proptest::prelude::*;

use crate::support::{checks, shown};

#[test]
fn files_of_checks_have_an_end() {
    let error = |list: String| checks(&list).judge::<Checks>().outcome.unwrap_err();
    assert!(error(" ".repeat(MAX_FILE_BYTES + 1)).contains("it has more than 1 MiB"));
    let many: String = (0..=MAX_CHECKS).map(|at| format!("- {{id: C{at}, items: failed, want: '== 0'}}\n")).collect();
    assert!(error(many).contains("there are more than 500 checks"));
    assert!(error(format!("- {{id: {}, items: failed, want: '== 0'}}\n", "x".repeat(65))).contains("1 to 64 bytes"));
}

#[test]
fn long_texts_are_cut_to_what_the_host_takes() {
    let long = "s".repeat(9000);
    let list = format!(
        "- {{id: A, name: {long}, items: [{long}, passed], want: '>= {}1'}}\n- {{id: B, class: flaky, want: '== 0'}}\n",
        "0".repeat(9000)
    );
    let case = checks(&list).results("global", [Item::new(0, "n".repeat(9000)).status(Status::Passed)]);
    assert_eq!(shown(&case).lines().count(), 2);
}

#[test]
fn a_line_without_an_end_does_not_fill_the_memory() {
    let list = "- {id: X, log: {files: '*.log', pattern: 'took (\\d+)', unit: s, measure: max}, want: '< 10s'}\n";
    let log = format!("took 5 {}took 50\ntook 7", "x".repeat(2 * MAX_LINE));
    assert!(
        shown(&checks(list).file("a.log", log)).contains("X passed: values in *.log: want < 10s, got 7s | 2 lines")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// The harness enforces the host's rules for each check.
    #[test]
    fn no_bytes_stop_the_judge(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "(- |\\{|\\}|id: A|, |healthy: pods|items: failed|duration: max|want: '== 0'|log: |files: '\\*'|pattern: x|measure: count|\n){0,30}",
    ) {
        for content in [bytes, text.into_bytes()] {
            let case = checks("- {id: A, healthy: pods, want: '> 0'}\n- {id: B, log: {files: '*', pattern: '(.+)', measure: max}, want: '< 1s'}\n")
                .file("data/more.yaml", content.clone())
                .file("meta/clusterhealth.json", content.clone())
                .file("x.log", content);
            let said = case.judge::<Checks>();
            prop_assert_eq!(&case.chunk(1).judge::<Checks>(), &said);
        }
    }
}
