//! The built-in module `gojson`: reads the output of `go test -json`, and emits one item per file
//! and one per test.
//!
//! Files are read as a stream, event by event. [`MAX_EVENT`] and [`MAX_KEPT`] limit the memory.
//!
//! # The tree
//!
//! * A file becomes an item: its name is that of the file, and its metadata are `file` (the path)
//!   and `type: file`.
//! * A test becomes an item below it when an event reports its end. `pass` becomes `passed`, `skip`
//!   becomes `skipped`, `fail` becomes `failed`, and any other action, or none, becomes `unknown`.
//!   Subtests are siblings of their parents (`TestA`, `TestA/sub`), in the order in which they
//!   ended.
//! * The metadata key `classname` of a test is its package. It distinguishes tests of different
//!   packages with the same name.
//! * The events `run`, `pause`, `cont`, `bench` and `output` do not end a test. Neither do `attr`
//!   and `artifacts` of newer Go versions.
//! * An attribute of a test (`testing.T.Attr`) becomes metadata of its item, apart from the keys
//!   `classname`, `duration`, `error`, `file`, `start` and `type`.
//! * A failed test has two details: `failure` (its output) and `package`. A skipped test has the
//!   detail `skipped`: its output, which has the reason. Other tests have no details.
//! * The metadata key `duration` of a test that ran is its duration in seconds, as decimal text, if
//!   the event has it.
//! * The metadata key `start` of such a test is the time of its event `run`, in RFC 3339.
//! * If a package failed although none of its tests did, a `failed` item has the package's name.
//!   Its detail `failure` holds the output of the package and of its unfinished tests. Causes are a
//!   compile error, a `TestMain` that ended the process, or a timeout. The item is also there if a
//!   test failed and others did not end or did not run, such as after a panic.
//! * If a build failed, and no package reports that, a `failed` item has the import path of the
//!   build. Its detail `failure` holds the output of the build.
//! * If an event reports the start of a package and none its end, an `unknown` item has the
//!   package's name and the reason. So a file of a process that was killed never passes.
//! * If neither a test nor its package has an end, the test has an `unknown` item with the reason. The
//!   same applies if the package passed, and its output has the line `ok` without `PASS` before it:
//!   the process ended itself with exit code 0.
//! * A package without a name is called `package without a name`. `go tool test2json` without `-p`
//!   writes such events.
//!
//! The keys of an event are matched without regard to case. A byte order mark at the start, white
//! space between events, and line breaks make no difference.
//!
//! # Differences from Sonobuoy
//!
//! Sonobuoy emits no details, no durations and no classes. It ignores failures of a package itself,
//! so a package that does not compile passes. A file that is truncated after a passed test passes
//! too. With this module, such a file never passes.
//!
//! # Invalid files
//!
//! Lines before the first event are skipped, such as the command that `make` prints, unless they
//! report a failure or have a brace.
//!
//! Reading stops at anything else that is not an event, such as a compiler's message, or half an
//! event at the end. If there was no item before it, the item of the file is `unknown`, with the
//! reason under the metadata key `error`. Otherwise the items so far stay, and a last item
//! `unreadable: ...` is `unknown` and has the reason. Bytes in a string that are not UTF-8 are
//! replaced.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | an event | 8 MiB | reading stops there, with the reason |
//! | output that is kept of one test | 64 KiB | the middle is dropped, and a line notes that |
//! | output that is kept of all unfinished tests | 32 MiB | nothing more is kept until some tests end; the text notes that |
//! | output that is kept of all builds | 32 MiB | nothing more is kept |
//! | lines before the first event | 64 KiB | reading stops there, with the reason |
//! | the class of a test | 4 KiB | it is cut |
//! | attributes of a test; the value of one | 20; 4 KiB | the rest is dropped |
//! | a name | 32 KiB | it is cut; the detail `name` has the whole name, up to 1 MiB |
#![forbid(unsafe_code)]

mod event;
mod excerpt;
mod outputs;
mod report;
mod scan;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor};

use event::Event;
use report::Report;
use scan::Scanner;

pub use excerpt::MAX_EXCERPT;
pub use outputs::MAX_KEPT;
pub use scan::MAX_EVENT;

/// The post-processor for `go test -json`.
#[derive(Debug, Clone, Copy)]
pub struct GoJson;

impl PostProcessor for GoJson {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for file in files {
            let mut report = Report::new(Item::of_file(&file), out);
            let outcome = read(file, &mut report);
            report.finish(outcome.err());
        }
        Ok(())
    }
}

/// Reads a file. The error is a sentence that says where and why reading stopped early.
fn read(file: InputFile, report: &mut Report<'_>) -> Result<(), String> {
    let mut scanner = Scanner::new(file);
    while let Some((line, bytes)) = scanner.next_object()? {
        let event = Event::read(bytes).map_err(|error| format!("line {line}: {error}"))?;
        report.take(&event);
    }
    Ok(())
}

plumbline_sdk::module! {
    name: "gojson",
    formats: ["gojson"],
    default_files: ["**/*.json"],
    detect: [
        { "title": "Go test JSON", "prefix": ["{\"Time\":", "{\"ImportPath\":", "{\"Action\":"], "contains": ["\"Action\":\""] },
        { "title": "Go test JSON", "contains": ["\n{\"Time\":\"", "\"Action\":\"", "\"Package\":\""] },
        { "title": "Go test JSON", "contains": ["\n{\"ImportPath\":\"", "\"Action\":\"build-"] },
        { "title": "Go test JSON", "contains": ["\n{\"Action\":\"", "\"Test\":\"Test"] }
    ],
    post_processor: GoJson,
}
