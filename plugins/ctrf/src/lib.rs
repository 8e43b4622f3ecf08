//! The built-in module `ctrf`: reads reports in the Common Test Report Format (CTRF), and emits one
//! item per file, group of tests and test. Playwright, Jest, Cypress, k6 and many other tools have
//! reporters for this format.
//!
//! # The tree
//!
//! * A file becomes an item: its name is that of the file, and its metadata are `file` (the path),
//!   `type: file` and `tool`.
//! * Successive tests of one suite are below an item with the name of the suite. Without suites,
//!   those of one test file are below an item with the path of the file.
//! * A test becomes an item. `passed` and `failed` keep their meaning, `skipped` and `pending`
//!   become `skipped`, and every other status becomes `unknown`. Its details are `failure` (message
//!   and stack trace of a failed test) and `message` (of other tests). Its metadata are `duration`
//!   (seconds), `start` (seconds since 1970), `location` (`FILE:LINE`), `flaky` and `retries`, if the
//!   report has them. Tests that did not run have no times.
//! * If the summary counts another number of tests than the report has, or more tests with one of
//!   the statuses, there is an item `summary`. It is `failed` if the summary counts more failures,
//!   otherwise `unknown`.
//!
//! A file that is not a CTRF report, or that has no tests, is `unknown`, with the reason under the
//! metadata key `error`. Files of more than [`MAX_FILE`] bytes are not read.
#![forbid(unsafe_code)]

mod post_processor;

pub use post_processor::{Ctrf, MAX_FILE};

plumbline_sdk::module! {
    name: "ctrf",
    formats: ["ctrf"],
    default_files: ["**/*.json"],
    detect: [
        { "title": "CTRF", "prefix": ["{"], "contains": ["\"reportFormat\"", "\"CTRF\""] },
        { "title": "CTRF", "prefix": ["{"], "contains": ["\"results\"", "\"tool\"", "\"tests\"", "\"summary\""] },
        { "title": "CTRF", "files": ["**/ctrf*.json", "**/*.ctrf.json"], "prefix": ["{"] }
    ],
    post_processor: Ctrf,
}
