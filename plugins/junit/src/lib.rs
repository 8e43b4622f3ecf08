//! The built-in module `junit`: reads JUnit XML in its many dialects, and emits one item per file,
//! suite and test case.
//!
//! Files are read as a stream. A test case is emitted when its element ends, and is not kept.
//! [`MAX_TAG`], [`MAX_TEXT`] and [`MAX_ITEM_TEXT`] limit the memory.
//!
//! # The tree
//!
//! * A file becomes an item: its name is that of the file, and its metadata are `file` (the path)
//!   and `type: file`. A file without any test case gets the status `unknown`, with a reason: an
//!   empty run never passes. If a suite states `tests="0"`, or has setup nodes of Ginkgo, nothing
//!   is missing, and the status is `skipped`.
//! * A `testsuite` becomes an item below it, and a nested suite an item below that one. A suite
//!   without a name is called `testsuite-001`, `testsuite-002`, ... by its position among its
//!   siblings. A suite without test cases and suites is `skipped`.
//! * A `testcase` becomes an item below its suite. It is `failed` if it has a `failure` or `error`,
//!   or if the attribute `status` or `result` is `failed` or a synonym. Otherwise, it is `skipped`
//!   if it has a `skipped` element, or if one of these attributes is `skipped`, `notrun` or a
//!   synonym, and `unknown` if one of them is that word. All others are `passed`. A failure counts in
//!   unknown elements and properties too, but not in `system-out` and `system-err`. The failures of
//!   Catch2's tests with `[!mayfail]` do not count.
//! * A test case without a name takes its `classname`, or is called `testcase-001` and so on. One
//!   that has no class and no outcome either is `unknown`: pytest writes it for the test that was
//!   running when it was interrupted.
//! * The metadata key `classname` is the attribute of that name, unless it repeats the name of the
//!   suite or of the test case. It distinguishes tests with the same name: pytest calls every suite
//!   `pytest`.
//! * The metadata key `duration` of a test case that ran is its duration in seconds, as decimal
//!   text. It is present if `time` is a non-negative number.
//! * The details of a test case are `failure`, `error`, `skipped` (the reason, unless it is just
//!   the word `skipped`), `system-out`, `system-err`, Surefire's `rerunFailure`, `rerunError`,
//!   `flakyFailure`, `flakyError`, and PHPUnit's `warning`. Several elements with the same name are
//!   joined by a line break. Except for the output, a detail is the attribute `message`, a space,
//!   and the body: existing users compare these texts. If `failure` or `error` has both, the detail
//!   `failure-message` or `error-message` is the message alone.
//! * A `failure` or `error` in a suite, but outside of any test case, becomes an item below the
//!   suite.
//! * A suite with the property `DryRun` is a dry run of Ginkgo, which reports tests as passed that did
//!   not run. They are `skipped`. If the property follows test cases, the item `dry run` with status
//!   `unknown` follows them.
//! * Ginkgo's setup nodes, such as `[SynchronizedBeforeSuite]`, are not tests. A failed one becomes
//!   a failed item. The others have no item, but those before the first test case are listed in the
//!   detail `setup-nodes` of their suite.
//! * Everything else (times of suites, properties, output of a suite) is left out, unless the
//!   option `keep` lists it.
//!
//! # Totals
//!
//! If the `failures` and `errors` of a suite, or of the whole report, exceed those of its test
//! cases, the item `missing failures` with status `unknown` follows. If `tests` is above 0 and
//! there is no test case, the item `missing test cases` follows. If `failures` or `errors` is not a
//! number, the item `invalid totals` follows. Totals that are too low are only logged, because
//! several tools never update them.
//!
//! Each `failure` and `error` of a failed test case covers for one failure of the totals, because
//! Catch2 and pytest count them. `rerunFailure`, `flakyError` and the like do so only if `tests`
//! counts these attempts too, as Surefire does with JUnit 4, and Gradle with `mergeReruns`.
//!
//! `tests` is not compared with the number of test cases, because either may legitimately be higher.
//! Catch2 counts assertions. Ginkgo 1 counts the tests that it runs, and lists the skipped ones too.
//! Surefire with JUnit 5 counts the tests of the last rerun. pytest counts a failed test once, but
//! lists it twice if its teardown failed too.
//!
//! # Damaged files
//!
//! A file that is not JUnit becomes one item with status `unknown` and the reason under the
//! metadata key `error`.
//!
//! A truncated file yields everything that could be read. An open test case is `unknown`, and a
//! last item `unreadable: ...` has the reason, so the file never passes. The same applies to text
//! or a foreign element after the end of the report. A further report there is read.
//!
//! Names of elements and attributes may be in any case. Test cases are also found inside of unknown
//! elements and of other test cases. These do not make a file invalid: values that are not numbers
//! (except for totals), unknown elements and attributes, `DOCTYPE` (whose entities are never
//! expanded), lone `&`, control characters, and bytes that are invalid in the encoding. A malformed
//! attribute of a suite or test case does, such as one without quotes: it may be a failure.
//!
//! # Encodings
//!
//! The module supports UTF-8, UTF-16 in both byte orders with or without a byte order mark, and all
//! encodings of the WHATWG Encoding Standard (ISO-8859-1, Windows-1252, Shift_JIS, GB18030, ...). A
//! byte order mark takes precedence over the declaration.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a tag with its attributes | 8 MiB | reading stops there, with the reason |
//! | a text | 4 MiB | cut, with a note in its last line |
//! | all texts of an item | 12 MiB | left out, and counted in the detail `cut` |
//! | a name | 32 KiB | cut; the detail `name` has the whole name, up to 1 MiB |
//! | open elements | 1,000 | reading stops there, with the reason |
//! | nested suites | 48 levels | deeper ones are items of the deepest level |
//! | nested test cases | 8 | reading stops there, with the reason |
//! | a class name | 4 KiB | cut, with a note in its last line |
//!
//! # Options
//!
//! `keep` lists attributes of `testsuite` and `testcase` (such as `classname`, `time`, `file`) that
//! become details of the item. The word `properties` keeps the element of that name, as an object.
#![forbid(unsafe_code)]

mod case;
mod encoding;
mod heading;
mod kind;
mod plain;
mod properties;
mod report;
mod scan;
mod seconds;
mod tag;
mod text;
mod totals;
mod tree;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor};

use encoding::Utf8;
use heading::Options;
use report::Report;
use scan::Scanner;

pub use case::MAX_ITEM_TEXT;
pub use scan::MAX_TAG;
pub use text::MAX_TEXT;

/// The post-processor for JUnit XML.
#[derive(Debug, Clone, Copy)]
pub struct Junit;

impl PostProcessor for Junit {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options = plugin.options::<Options>()?.checked()?;
        for file in files {
            let path = file.path().to_owned();
            let mut report = Report::new(Item::of_file(&file), &options, out);
            let outcome = Scanner::new(Utf8::new(file)).run(&mut report);
            report.finish(&path, outcome.err());
        }
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "junit",
    formats: ["junit", "e2e"],
    default_files: ["**/*.[xX][mM][lL]"],
    detect: [
        { "title": "JUnit", "xml-root": ["testsuites", "testsuite"] },
        { "title": "JUnit", "files": ["**/junit*.xml", "**/TEST-*.xml"], "prefix": ["<"] }
    ],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": { "keep": { "type": "array", "maxItems": 64, "items": { "type": "string" } } }
    },
    post_processor: Junit,
}
