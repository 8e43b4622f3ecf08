//! Tests of invalid files.

use plumbline_module_tap::Tap;
use plumbline_sdk::Status;
use plumbline_sdk::testing::{Case, Run};
use proptest::prelude::*;

use crate::documents::read;

#[test]
fn a_disk_that_breaks_is_named_and_the_next_file_is_read() {
    let run = Case::new()
        .broken_file("results/global/a.tap", "1..1\nok 1 a\n", "the disk is gone")
        .file("results/global/b.tap", "1..1\nok 1 b\n")
        .run::<Tap>();
    assert_eq!(run.outline(), "a.tap: -\n  a: passed\n  unreadable: unknown\nb.tap: -\n  b: passed\n");
}

#[test]
fn a_subtest_too_large_to_buffer_is_still_complete() {
    let tests: String = (1..=30_000).map(|n| format!("    ok {n} a\n")).collect();
    let run = read(format!("1..1\n# Subtest: s\n    1..30000\n{tests}not ok 1 - s\n"));
    assert_eq!(run.count(&Status::Passed), 30_000);
    assert_eq!(run.count(&Status::Failed), 1);
    assert_eq!(run.items.last().unwrap().name, "s");
}

#[test]
fn deep_indentation_never_passes() {
    let run = read(format!("1..1\n{}ok 1\n", " ".repeat(4 * 40)));
    assert_eq!(run.count(&Status::Passed), 0);
    assert_eq!(run.count(&Status::Failed), 1, "{}", run.outline());
}

proptest! {
    #[test]
    fn any_lines_are_survived_and_a_failure_is_never_lost(
        lines in prop::collection::vec(prop::sample::select(vec![
            "ok", "ok 1 - a", "not ok 2 b # TODO x", "1..2", "1..0 # skip", "    ok 1", "        not ok 1 # TODO", "    1..1", "# Subtest: s",
            "    # Subtest: t", "  ---", "  duration_ms: 1e400", "  ...", "TAP version 14", "    TAP version 14", "\u{feff}", "x", "", "# c",
            "not ok 1 # skip", "ok 18446744073709551615", "                ok", "    not ok 2", "      ---", "      ...", "   Bail out! x",
        ]), 0..24),
        fails in any::<bool>(),
        piece in 1_u32..40,
    ) {
        let mut text = lines.join("\n");
        if fails {
            text.push_str("\nnot ok failing");
        }
        let case = Case::new().file("results/global/out.tap", text);
        let whole = case.run::<Tap>();
        prop_assert_eq!(&whole.outcome, &Ok(()));
        prop_assert!(!fails || whole.count(&Status::Failed) > 0, "{}", whole.outline());
        let tree = |run: &Run| run.outline();
        prop_assert_eq!(tree(&whole), tree(&case.chunk(piece).run::<Tap>()));
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let run = read(bytes);
        prop_assert!(!run.items.is_empty());
    }
}
