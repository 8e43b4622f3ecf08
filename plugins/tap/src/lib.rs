//! The built-in module `tap`: reads TAP (Test Anything Protocol, versions 12 to 14), and emits one
//! item per file, test and subtest. bats, prove, node, kselftest and many other tools print this
//! format.
//!
//! # The tree
//!
//! * A file becomes an item: its name is that of the file, and its metadata are `file` (the path)
//!   and `type: file`.
//! * A test point becomes an item below it: `ok` becomes `passed`, `not ok` becomes `failed`. With
//!   the directive `SKIP`, `ok` becomes `skipped`. With `TODO`, `not ok` becomes `skipped`. As in
//!   `prove`, `not ok` with `SKIP` is `failed`. The metadata key `directive` is `skip` or `todo`,
//!   and `reason` is the text after it. A longer word, such as `todos`, is not a directive, except
//!   for `skipped`.
//! * The tests of a subtest are below the item of its test point, which may come before them (`#
//!   Subtest: name`) or after them.
//! * Comments and YAML blocks after a failed test become its detail `failure`. `duration_ms` in a
//!   YAML block becomes the metadata key `duration`, in seconds. `...` closes a block. A line that
//!   is indented less also ends it, and lines of a block that is not closed count if they are TAP.
//! * If the tests do not match the plan, or if there is no plan, the run was interrupted. There is
//!   a failed item `plan`. The plan `1..0` becomes a skipped item `all tests`. `Bail out!` becomes
//!   a failed item, and ends the file. Its indentation does not matter.
//! * A version line begins a document, and a file may have several. One without anything else is an
//!   `unknown` item `empty document`: its program ended before the first test.
//!
//! Lines that are not TAP are ignored, as in other readers. A file without any plan or test point
//! is `unknown`.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a line | 64 KiB | the rest of the line is ignored |
//! | diagnostics of a test | 64 KiB | cut |
//! | lines of a YAML block from the first that could be TAP | 1 MiB | the block ends there |
//! | levels of subtests | 32 | deeper lines are ignored, so the plan is not kept |
//! | items of a subtest that wait for its test point | 20,000 items, 8 MiB | emitted as they are; the test point becomes an item of its own |
//! | test numbers that are compared with the plan | 1,000,000 | only counted |
#![forbid(unsafe_code)]

mod document;
mod level;
mod line;

use plumbline_sdk::input::read_line;
use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor};

use document::Document;

/// Number of bytes of a line that are read; the rest is ignored.
pub const MAX_LINE: usize = 64 << 10;

/// The post-processor for TAP.
#[derive(Debug, Clone, Copy)]
pub struct Tap;

impl PostProcessor for Tap {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for mut file in files {
            let mut document = Document::new(Item::of_file(&file), out);
            let mut line = Vec::new();
            let problem = loop {
                match read_line(&mut file, &mut line, MAX_LINE) {
                    Ok(Some(end)) => {
                        let text = line.strip_suffix(b"\r").filter(|_| end.is_complete).unwrap_or(&line);
                        document.line(&String::from_utf8_lossy(text));
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error.to_string()),
                }
            };
            document.finish(problem);
        }
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "tap",
    formats: ["tap"],
    default_files: ["**/*.tap"],
    detect: [
        { "title": "TAP", "prefix": ["TAP version ", "ok 1", "not ok 1", "Bail out!"] },
        { "title": "TAP", "prefix": ["1..0", "1..1", "1..2", "1..3", "1..4", "1..5", "1..6", "1..7", "1..8", "1..9"] },
        { "title": "TAP", "contains": ["\nok 1", "\n1.."] },
        { "title": "TAP", "contains": ["\nnot ok 1", "\n1.."] },
        { "title": "TAP", "contains": ["\nTAP version "] },
        { "title": "TAP", "prefix": ["ok - ", "not ok - "], "contains": ["\n1.."] },
        { "title": "TAP", "contains": ["\nok - ", "\n1.."] },
        { "title": "TAP", "contains": ["\nnot ok - ", "\n1.."] },
        { "title": "TAP", "files": ["**/*.tap"], "contains": ["\n"] },
        { "title": "TAP", "files": ["**/*.tap"], "prefix": ["ok", "not ok", "1..", "TAP", "Bail out!"] }
    ],
    post_processor: Tap,
}
