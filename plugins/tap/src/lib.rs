//! The built-in module `tap`: reads TAP (Test Anything Protocol, versions 12 to 14), which bats, prove, node, kselftest and many other
//! tools print, and emits one item per file, test and subtest.
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name, meta `file` (its path) and `type: file`.
//! * A test point becomes an item below it: `ok` is `passed`, `not ok` is `failed`. With the directive `SKIP` it is `skipped`. With `TODO`,
//!   `not ok` is `skipped`. The meta key `directive` holds `skip` or `todo`, and `reason` holds what follows it.
//! * The tests of a subtest are below the item of its test point, which may come before them (`# Subtest: name`) or after them.
//! * Comments and YAML blocks after a failed test are its detail `failure`. `duration_ms` in a YAML block becomes the meta key `duration`, in
//!   seconds.
//! * A plan that the tests do not keep, and a document without a plan, is a failed item `plan`: the run was cut off. The plan `1..0` is a
//!   skipped item `all tests`. `Bail out!` is a failed item, and ends the file.
//!
//! Lines that are not TAP are ignored, as in other readers. A file without any plan or test point is `unknown`.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a line | 64 KiB | the rest of the line is ignored |
//! | diagnostics of a test | 64 KiB | cut |
//! | levels of subtests | 32 | deeper lines are ignored, so the plan is not kept |
//! | items of a subtest that wait for its test point | 20,000 items, 8 MiB | emitted as they are; the test point becomes an item of its own |
//! | test numbers that are compared with the plan | 1,000,000 | only counted |
#![forbid(unsafe_code)]

mod document;
mod level;
mod line;
mod post_processor;

pub use line::MAX_LINE;
pub use post_processor::Tap;

plumbline_sdk::module! {
    name: "tap",
    formats: ["tap"],
    default_files: ["**/*.tap"],
    detect: [
        { "title": "TAP", "prefix": ["TAP version ", "ok 1", "not ok 1", "Bail out!"] },
        { "title": "TAP", "prefix": ["1..0", "1..1", "1..2", "1..3", "1..4", "1..5", "1..6", "1..7", "1..8", "1..9"] },
        { "title": "TAP", "contains": ["\nok 1", "\n1.."] },
        { "title": "TAP", "contains": ["\nnot ok 1", "\n1.."] },
        { "title": "TAP", "contains": ["\nTAP version "] }
    ],
    post_processor: Tap,
}
