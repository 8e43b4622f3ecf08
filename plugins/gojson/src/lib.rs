//! The built-in module `gojson`: reads what `go test -json` writes, and emits one item per file and one per test.
//!
//! The files are read as a stream, event by event. What bounds the memory: [`MAX_EVENT`] and [`MAX_KEPT`].
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name, meta `file` (its path) and `type: file`.
//! * A test becomes an item below it when an event says how it ended: `pass` is `passed`, `skip` is `skipped`, `fail` is `failed`, any
//!   other word, or none, is `unknown`. Subtests stand beside their parents (`TestA`, `TestA/sub`), in the order in which they ended.
//! * The events `run`, `pause`, `cont`, `bench` and `output` end nothing, nor do `attr` and `artifacts` of newer Go versions.
//! * A test that failed has two details: `failure` (what it printed) and `package`. Tests that did not fail have none.
//! * The meta key `duration` of what ran says how many seconds it took, as decimal text, if the event tells it.
//! * A package that failed although none of its tests did (it does not compile, `TestMain` ended the process, a test ran into the
//!   timeout) becomes a `failed` item with the package's name, and what it and its unfinished tests printed as `failure`.
//!
//! The keys of an event are read without regard to case. A byte order mark at the beginning, blanks between events, events on several
//! lines or on one are all the same.
//!
//! # Where this differs from Sonobuoy
//!
//! Sonobuoy emits no details and no durations, makes nothing of a package's own failure (so a package that does not compile passes), and
//! a file that breaks off after a passed test passes with it. Here such a file can never pass.
//!
//! # Files that are not as they should be
//!
//! At the first thing that is not an event (a compiler's message between them, half an event at the end) the file ends. Without any
//! item before it, the file's item is `unknown`, with the reason under the meta key `error`; else what was read stays, and a last item
//! `unreadable: ...` is `unknown` and bears the reason. Bytes that are not UTF-8 within a text are replaced.
//!
//! # Bounds
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | an event | 8 MiB | the file ends there, with the reason |
//! | output that is kept of one test | 64 KiB | the middle is left out, and a line says so |
//! | output that is kept of all unfinished tests | 32 MiB | nothing more is kept until some end; the text says so |
//! | a name | 32 KiB | cut; it stands whole in the detail `name`, up to 1 MiB |
#![forbid(unsafe_code)]

mod event;
mod excerpt;
mod outputs;
mod post_processor;
mod report;
mod scan;

pub use excerpt::MAX_EXCERPT;
pub use outputs::MAX_KEPT;
pub use post_processor::GoJson;
pub use scan::MAX_EVENT;

plumbline_sdk::module! {
    name: "gojson",
    formats: ["gojson"],
    default_files: ["**/*.json"],
    detect: [
        { "title": "Go test JSON", "prefix": ["{\"Time\":", "{\"ImportPath\":", "{\"Action\":"], "contains": ["\"Action\":\""] }
    ],
    post_processor: GoJson,
}
