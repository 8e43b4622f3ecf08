//! Tests of the conversion of documents that tools print.

use plumbline_module_tap::{MAX_LINE, Tap};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Item};

pub(crate) fn read(content: impl Into<Vec<u8>>) -> Run {
    let run = Case::new().file("results/global/out.tap", content).run::<Tap>();
    assert_eq!(run.outcome, Ok(()));
    run
}

fn item<'r>(run: &'r Run, name: &str) -> &'r Item {
    run.items.iter().find(|item| item.name == name).unwrap_or_else(|| panic!("{name}: {}", run.outline()))
}

fn detail<'r>(item: &'r Item, key: &str) -> &'r str {
    match item.details.iter().find(|(known, _)| known == key) {
        Some((_, Detail::Text(text))) => text,
        other => panic!("{key} is {other:?}"),
    }
}

fn meta<'r>(item: &'r Item, key: &str) -> Option<&'r str> {
    item.meta.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

#[test]
fn output_of_bats_is_read_with_its_failures() {
    let run = read(
        "1..4\nok 1 disk has space\nnot ok 2 clock is right\n# (in test file tests/clock.bats, line 3)\n#   `[ 1 -eq 2 ]' failed\nok 3 network # skip no network\nok 4 last in 12ms\n",
    );
    assert_eq!(
        run.outline(),
        "out.tap: -\n  disk has space: passed\n  clock is right: failed\n  network: skipped\n  last in 12ms: passed\n"
    );
    let failed = item(&run, "clock is right");
    assert_eq!(detail(failed, "failure"), "(in test file tests/clock.bats, line 3)\n  `[ 1 -eq 2 ]' failed");
    assert_eq!((meta(failed, "number"), meta(item(&run, "network"), "reason")), (Some("2"), Some("no network")));
}

#[test]
fn output_of_node_is_read_with_its_subtests_and_durations() {
    let run = read(
        "TAP version 13\n# Subtest: outer\n    # Subtest: inner\n    ok 1 - inner\n      ---\n      duration_ms: 1.5\n      ...\n    # Subtest: bad\n    not ok 2 - bad\n      ---\n      error: 'x != y'\n      ...\n    1..2\nnot ok 1 - outer\n  ---\n  duration_ms: 20\n  ...\n1..1\n# tests 2\n# fail 1\n",
    );
    assert_eq!(run.outline(), "out.tap: -\n  outer: -\n    inner: passed\n    bad: failed\n");
    assert_eq!(meta(item(&run, "inner"), "duration"), Some("0.0015"));
    assert_eq!(detail(item(&run, "bad"), "failure"), "error: 'x != y'");
    assert_eq!(meta(item(&run, "outer"), "duration"), Some("0.02"));
}

#[test]
fn a_plan_that_is_not_kept_fails() {
    for (text, why) in [
        ("1..3\nok 1 a\n", "planned 3 tests, ran 1 test"),
        ("ok 1 a\n", "no plan after 1 test: the run was interrupted"),
        ("1..1\nok 1 a\nok 2 b\n", "planned 1 test, ran 2 tests"),
        ("1..2\nok 1 a\nok 1 b\n", "test number 1 occurs more than once"),
        ("1..2\n", "planned 2 tests, ran 0 tests"),
    ] {
        let run = read(text);
        assert!(run.outline().ends_with("  plan: failed\n"), "{text}: {}", run.outline());
        assert_eq!(detail(item(&run, "plan"), "failure"), why, "{text}");
    }
    assert_eq!(read("ok 1 a\n1..1\n").outline(), "out.tap: -\n  a: passed\n");
}

#[test]
fn no_test_is_skipped_and_no_tap_is_unknown() {
    let run = read("1..0 # SKIP no disk\n");
    assert_eq!(run.outline(), "out.tap: -\n  all tests: skipped\n");
    assert_eq!(meta(item(&run, "all tests"), "reason"), Some("SKIP no disk"));
    for text in ["", "hello\n", "# comment\n", "TAP version 13\n"] {
        let run = read(text);
        assert_eq!(run.outline(), "out.tap: unknown\n", "{text}");
        assert_eq!(meta(item(&run, "out.tap"), "error"), Some("there is neither a plan nor a test point"));
    }
}

#[test]
fn directives_excuse_and_a_bail_out_fails() {
    let run =
        read("1..3\nnot ok 1 a # TODO later\n# why\nok 2 # SKIP\nok 3 b # todo bonus\nBail out! disk full\nok 4\n");
    assert_eq!(run.outline(), "out.tap: -\n  a: skipped\n  test 2: skipped\n  b: passed\n  Bail out!: failed\n");
    assert_eq!(detail(item(&run, "a"), "diagnostics"), "why");
    assert_eq!(detail(item(&run, "Bail out!"), "failure"), "disk full");
}

#[test]
fn words_that_start_like_a_directive_excuse_nothing() {
    let run = read("1..2\nnot ok 1 counts # todos left\nnot ok 2 a # skipping\n");
    assert_eq!(run.outline(), "out.tap: -\n  counts # todos left: failed\n  a # skipping: failed\n");
}

#[test]
fn a_failed_test_with_skip_has_failed() {
    let run = read("1..3\nok 1 a\nnot ok 2 b # SKIP x\n# why\n    1..1\n    ok 1 c\nnot ok 3 d # skip\n");
    let want = "out.tap: -\n  a: passed\n  b: failed\n  d: -\n    c: passed\n    not ok: failed\n";
    assert_eq!(run.outline(), want);
    assert_eq!((meta(item(&run, "b"), "directive"), detail(item(&run, "b"), "failure")), (Some("skip"), "why"));
    let inner = read("1..1\n    1..1\n    not ok 1 a\nnot ok 1 b # SKIP\n");
    assert_eq!(inner.outline(), "out.tap: -\n  b: -\n    a: failed\n");
}

#[test]
fn a_bail_out_counts_at_any_indentation() {
    for indentation in ["", " ", "  ", "   ", "    ", "     ", "\t", "  \t ", &" ".repeat(200)] {
        let run = read(format!("1..1\nok 1 a\n{indentation}Bail out! full\nok 2 b\n"));
        assert_eq!(run.outline(), "out.tap: -\n  a: passed\n  Bail out!: failed\n", "{indentation:?}");
    }
    let block = read("1..2\nok 1 a\n  ---\n  x: 1\n    Bail out! full\n");
    assert_eq!(block.outline(), "out.tap: -\n  a: passed\n  Bail out!: failed\n");
    let after = read("1..2\nok 1 a\n  ---\n    Bail out! full\nok 2 b\n");
    assert_eq!(after.outline(), "out.tap: -\n  a: passed\n  Bail out!: failed\n");
}

#[test]
fn a_yaml_block_without_an_end_hides_nothing() {
    let rest = "    # Subtest: s\n    not ok 1 inner\n      ---\n      duration_ms: 2000\n      ...\n    1..1\n";
    let run = read(format!("1..2\nok 1 a\n  ---\n  duration_ms: 1000\n{rest}ok 2 s\n"));
    let want = "out.tap: -\n  a: passed\n  s: -\n    inner: failed\n";
    assert_eq!(run.outline(), want);
    assert_eq!((meta(item(&run, "a"), "duration"), meta(item(&run, "inner"), "duration")), (Some("1"), Some("2")));
    let cut = read(format!("1..2\nok 1 a\n  ---\n  x: 1\n{rest}"));
    assert!(cut.outline().contains("    inner: failed\n"), "{}", cut.outline());
    let nested =
        read("1..2\nok 1 a\n  ---\n    ok 1 b\n      ---\n        not ok 1 c\n        1..1\n    1..2\nok 2 s\n");
    assert!(nested.outline().contains("c: failed\n"), "{}", nested.outline());
    let long = "  - text that goes on and on\n".repeat(50_000);
    let run = read(format!("1..2\nok 1 a\n  ---\n    not ok 1 inner\n    1..1\n{long}ok 2 s\n"));
    assert_eq!(run.outline(), "out.tap: -\n  a: passed\n  s: -\n    inner: failed\n");
}

#[test]
fn lines_may_end_as_on_windows_and_long_ones_are_cut() {
    let long = "x".repeat(3 * MAX_LINE);
    let run = read(format!("1..2\r\nok 1 - {long}\r\nnot ok 2 - b\r\n  ---\r\n  at: disk\r\n  why: full\r\n  ...\r\n"));
    assert_eq!(run.items.len(), 3, "{}", run.outline());
    assert!(long.starts_with(&run.items[1].name) && run.items[1].name.len() < MAX_LINE);
    assert_eq!(detail(item(&run, "b"), "failure"), "at: disk\nwhy: full");
}

#[test]
fn tap_in_a_closed_yaml_block_is_text() {
    // As node prints an error message of several lines.
    let run = read(
        "1..2\nnot ok 1 a\n  ---\n  error: |-\n    boom\n    not ok 3 y\n    Bail out!\n  duration_ms: 1000\n  ...\nok 2 b\n",
    );
    assert_eq!(run.outline(), "out.tap: -\n  a: failed\n  b: passed\n");
    let want = "error: |-\n  boom\n  not ok 3 y\n  Bail out!\nduration_ms: 1000";
    assert_eq!(detail(item(&run, "a"), "failure"), want);
    assert_eq!(meta(item(&run, "a"), "duration"), Some("1"));
}

#[test]
fn a_subtest_counts_as_its_test_point_says() {
    let excused = read("1..1\n    1..1\n    not ok 1 a\nnot ok 1 b # TODO\n");
    assert_eq!(excused.outline(), "out.tap: -\n  b: -\n    a: skipped\n");
    let failed = read("1..1\n    1..1\n    ok 1 a\nnot ok 1 b\n");
    assert_eq!(failed.outline(), "out.tap: -\n  b: -\n    a: passed\n    not ok: failed\n");
    let short = read("1..1\n    1..2\n    ok 1 a\nok 1 b\n");
    assert_eq!(short.outline(), "out.tap: -\n  b: -\n    a: passed\n    plan: failed\n");
    let open = read("1..1\n    ok 1 a\n    1..1\n");
    assert_eq!(
        open.outline(),
        "out.tap: -\n  subtest: -\n    a: passed\n    end of the subtest: unknown\n  plan: failed\n"
    );
}

#[test]
fn documents_one_after_the_other_each_have_a_plan() {
    let run = read("TAP version 13\n1..1\nok 1 a\nTAP version 13\n1..2\nok 1 b\n");
    assert_eq!(run.outline(), "out.tap: -\n  a: passed\n  b: passed\n  plan: failed\n");
}

/// Programs that print a version line and crash before their plan, as those of kselftest do.
#[test]
fn a_document_with_only_a_version_line_never_passes() {
    let good = "TAP version 13\n1..1\nok 1 a\n";
    let empty = "TAP version 13\n# setup\n";
    let passed = "  a: passed\n";
    let unknown = "  empty document: unknown\n";
    for (text, items) in [
        (format!("{good}{empty}"), format!("{passed}{unknown}")),
        (format!("{empty}{good}"), format!("{unknown}{passed}")),
        (format!("{good}{empty}{empty}{good}"), format!("{passed}{unknown}{unknown}{passed}")),
        (format!("{good}{good}"), format!("{passed}{passed}")),
    ] {
        let run = read(text.as_str());
        assert_eq!(run.outline(), format!("out.tap: -\n{items}"), "{text}");
    }
    let run = read(format!("{good}{empty}"));
    assert_eq!(meta(item(&run, "empty document"), "error"), Some("there is neither a plan nor a test point"));
    let bailed = read(format!("{good}{empty}Bail out!\n"));
    assert_eq!(bailed.outline(), "out.tap: -\n  a: passed\n  Bail out!: failed\n");
    let skipped = read(format!("{good}TAP version 13\n1..0 # SKIP no disk\n"));
    assert_eq!(skipped.outline(), "out.tap: -\n  a: passed\n  all tests: skipped\n");
}
