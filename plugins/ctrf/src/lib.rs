//! The built-in module `ctrf`: reads reports in the Common Test Report Format (CTRF), for which there are reporters for Playwright, Jest,
//! Cypress, k6 and many other tools, and emits one item per file, group of tests and test.
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name, meta `file` (its path), `type: file`, and `tool`.
//! * Successive tests of one suite, or without a suite of one test file, are below an item of that name.
//! * A test becomes an item: `passed` and `failed` are what they say, `skipped` and `pending` are `skipped`, and every other status is
//!   `unknown`. Its details are `failure` (message and stack trace of a failed test), `message` (of others). Its meta keys are `duration` (seconds),
//!   `flaky` and `retries`, where the report has them.
//! * A summary with other totals than the tests becomes an item `summary`: `failed` if it counts more failures, otherwise `unknown`.
//!
//! A file that is not a CTRF report, or a report without tests, is `unknown`, with the reason under the meta key `error`. Files of more than
//! [`MAX_FILE`] bytes are not read.
#![forbid(unsafe_code)]

mod post_processor;
mod report;

pub use post_processor::{Ctrf, MAX_FILE};

plumbline_sdk::module! {
    name: "ctrf",
    formats: ["ctrf"],
    default_files: ["**/*.json"],
    detect: [
        { "title": "CTRF", "prefix": ["{"], "contains": ["\"reportFormat\"", "\"CTRF\""] },
        { "title": "CTRF", "prefix": ["{"], "contains": ["\"results\"", "\"tool\"", "\"tests\"", "\"summary\""] }
    ],
    post_processor: Ctrf,
}
