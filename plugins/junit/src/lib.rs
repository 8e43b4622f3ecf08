//! The built-in module `junit`: reads JUnit XML in its many dialects and emits one item per file, suite and test case.
//!
//! The files are read as a stream: a test case is emitted when it ends, and nothing of it is kept. What bounds the memory:
//! [`MAX_TAG`], [`MAX_TEXT`] and [`MAX_ITEM_TEXT`].
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name, meta `file` (its path) and `type: file`.
//! * A `testsuite` becomes an item below it, a suite inside a suite an item below that one. A suite without a name is called
//!   `testsuite-001`, `testsuite-002`, ... by its place among its siblings. A suite without any test case or suite is `passed`:
//!   existing users rely on it. A file without any test case is `unknown`, with a reason: an empty run never passes.
//! * A `testcase` becomes an item below its suite: `skipped` if it has a `skipped` element, else `failed` if it has `failure` or
//!   `error`, else `passed`. Without these elements, the attribute `status` decides: GoogleTest's `notrun` is `skipped`, and
//!   `failed` and its synonyms are `failed`. A test case without a name takes its `classname`, or is called `testcase-001` and so on.
//! * The meta key `classname` is the attribute of that name, unless it repeats the name of the suite or of the test case. Tests of
//!   one name are told apart by it: pytest calls every suite `pytest`.
//! * The meta key `duration` of a test case that ran is how many seconds it took, as decimal text, if its `time` is a number that is
//!   not negative.
//! * The details of a test case are `failure`, `error`, `skipped` (the reason, if there is more to it than the word `skipped`),
//!   `system-out`, `system-err`, Surefire's `rerunFailure`, `rerunError`, `flakyFailure`, `flakyError`, and PHPUnit's `warning`. Several
//!   elements of one name are joined by a line end. For all but the output, the attribute `message` comes first, then a space, then
//!   the body: existing users compare these texts. Where `failure` or `error` has both, the detail `failure-message` or
//!   `error-message` is the message alone.
//! * A `failure` or `error` in a suite but outside of any test case becomes an item below the suite.
//! * Setup nodes of Ginkgo, such as `[SynchronizedBeforeSuite]`, are no tests. One that failed is a failed item. The others are no
//!   items; those before the first test case are listed in the detail `setup-nodes` of their suite.
//! * Everything else (times of suites, properties, output of a suite) is left out, unless the option `keep` names it.
//!
//! # Totals
//!
//! If the `failures` and `errors` of a suite, or of the whole report, add up to more than its test cases show, the item
//! `missing failures` with status `unknown` follows them. The same goes for `tests` above 0 without any test case: `missing test
//! cases`. Totals below what was read are only logged: several tools never update them.
//!
//! # Damaged files
//!
//! A file that is not JUnit becomes one item with status `unknown` and the reason under the meta key `error`. A file that
//! breaks off yields what could be read, an open test case as `unknown`, and a last item `unreadable: ...` with the reason, so that
//! the file can never pass. The same goes for text or a foreign element after the end of the report; a further report there is read.
//! Names of elements may be in any case, and test cases are found inside of unknown elements and of other test cases.
//! Numbers that are not numbers, unknown elements and attributes, `DOCTYPE` (whose entities are never
//! expanded), lone `&`, control characters and bytes that are not in the encoding are no reason to reject a file.
//!
//! # Encodings
//!
//! UTF-8, UTF-16 in both byte orders with or without a mark, and all that the Encoding Standard of the WHATWG names (ISO-8859-1,
//! Windows-1252, Shift_JIS, GB18030, ...); a mark wins over the declaration.
//!
//! # Bounds
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | a tag with its attributes | 8 MiB | the file ends there, with the reason |
//! | a text | 4 MiB | cut, and its last line says so |
//! | all texts of an item | 12 MiB | left out, and the detail `cut` says how many |
//! | a name | 32 KiB | cut; it stands whole in the detail `name`, up to 1 MiB |
//! | open elements | 1,000 | the file ends there, with the reason |
//! | nested suites | 48 levels | deeper ones are items of the deepest level |
//! | nested test cases | 8 | the file ends there, with the reason |
//! | a class name | 4 KiB | cut, and its last line says so |
//!
//! # Options
//!
//! `keep`: names of attributes of `testsuite` and `testcase` (such as `classname`, `time`, `file`) that become details of the item;
//! the word `properties` keeps the element of that name, as an object.
#![forbid(unsafe_code)]

mod case;
mod encoding;
mod heading;
mod options;
mod plain;
mod post_processor;
mod properties;
mod report;
mod scan;
mod seconds;
mod tag;
mod text;
mod totals;
mod tree;

pub use case::MAX_ITEM_TEXT;
pub use post_processor::Junit;
pub use scan::MAX_TAG;
pub use text::MAX_TEXT;

plumbline_sdk::module! {
    name: "junit",
    formats: ["junit", "e2e"],
    default_files: ["**/*.xml"],
    detect: [{ "title": "JUnit", "xml-root": ["testsuites", "testsuite"] }],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": { "keep": { "type": "array", "maxItems": 64, "items": { "type": "string" } } }
    },
    post_processor: Junit,
}
