//! The stock module `junit`: reads JUnit XML, the many dialects of it, and emits one item per file, suite and test case.
//!
//! The files are read as a stream: a test case is emitted when it ends, and nothing of it is kept. What bounds the memory:
//! [`MAX_TAG`], [`MAX_TEXT`] and [`MAX_ITEM_TEXT`].
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name, meta `file` (its path) and `type: file`.
//! * A `testsuite` becomes an item below it, a suite inside a suite an item below that one. A suite without a name is called
//!   `testsuite-001`, `testsuite-002`, ... by its place among its siblings. A suite without any test case or suite is `passed`:
//!   existing users rely on it. A file in which no test case stands at all is `unknown`, and says so: an empty run never passes.
//! * A `testcase` becomes an item below its suite: `skipped` if it has a `skipped` element, else `failed` if it has `failure` or
//!   `error`, else `passed`. A test case without a name takes its `classname`, or is called `testcase-001` and so on.
//! * The details of a test case are `failure`, `error`, `skipped` (the reason, if there is more to it than the word `skipped`),
//!   `system-out`, `system-err`, Surefire's `rerunFailure`, `rerunError`, `flakyFailure`, `flakyError`, and PHPUnit's `warning`; several
//!   elements of one name are joined by a line end. For all but the output the attribute `message` comes first, then a space, then the
//!   text.
//! * The meta key `duration` of a test case that ran says how many seconds it took, as decimal text, if its `time` is a number that is not
//!   negative.
//! * A `failure` or `error` that stands in a suite outside of any test case becomes an item below the suite, so that it is not lost.
//! * Everything else (times of suites, class names, properties, output of a suite) is left out, unless the option `keep` names it.
//!
//! # Files that are not as they should be
//!
//! A file that is no JUnit at all becomes one item with status `unknown` and the reason under the meta key `error`. A file that
//! breaks off yields what could be read, an open test case as `unknown`, and a last item `unreadable: ...` with the reason, so that
//! the file can never pass. Numbers that are not numbers, unknown elements and attributes, `DOCTYPE` (whose entities are never
//! expanded), lone `&`, control characters and bytes that are not in the encoding are no reason to refuse a file.
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
//! | nested suites | 48 levels | deeper ones stand at the deepest level |
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
mod tree;

pub use case::MAX_ITEM_TEXT;
pub use post_processor::Junit;
pub use scan::MAX_TAG;
pub use text::MAX_TEXT;

plumbline_sdk::module! {
    name: "junit",
    formats: ["junit", "e2e"],
    default_files: ["**/*.xml"],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": { "keep": { "type": "array", "maxItems": 64, "items": { "type": "string" } } }
    },
    post_processor: Junit,
}
