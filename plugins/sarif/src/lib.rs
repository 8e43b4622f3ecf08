//! The built-in module `sarif`: reads results of static analysis in SARIF 2.1.0 (OASIS), and emits
//! one item per file, run and result. CodeQL, ESLint, Semgrep, gitleaks, Trivy and many other tools
//! write this format.
//!
//! # The tree
//!
//! * A file becomes an item: its name is that of the file, and its metadata are `file` (the path)
//!   and `type: file`.
//! * A run becomes an item below it. Its name is that of the tool with its version.
//! * A result becomes an item below its run. Its name is `RULE FILE:LINE:COLUMN`. Its text is the
//!   detail `failure`, or `message` if the result is not a failure. Its metadata are `rule`, `help`
//!   (a URL), and `location` (`FILE:LINE:COLUMN`) or `symbol` (a function or class).
//!
//! | in the log | status |
//! |---|---|
//! | kind `fail` (or none) and a level of the option `fail-on` (default `[error]`) | `failed` |
//! | kind `fail` and another level | `warning`, `note` or `none`: the level itself |
//! | an accepted suppression, or the baseline state `absent` | `skipped` |
//! | kind `pass`, `notApplicable` | `passed`, `skipped` |
//! | kind `open`, `review`, `informational` | that word |
//! | another kind or level | `unknown` |
//! | a run with an empty list of results | `passed` |
//! | a run without a list of results, or with results in other files | `unknown` |
//! | an invocation that failed or did not start; a notification with the level `error` | `unknown` |
//! | not SARIF, another version, no runs, a file over [`MAX_FILE`] bytes | `unknown` |
//!
//! The level is that of the result, or else that of its rule's configuration, or else `warning`. An
//! invocation can override the configuration of a rule (3.20.5). A result that does not say which
//! invocation found it gets the worst level that one of them gave to its rule, or the default if
//! that is worse. Rules are looked up in the driver and in extensions, by ID (`A/b` also as `A`) or by index.
//!
//! An invocation failed if `executionSuccessful` is `false`, if a signal ended it, or if its exit
//! code is not 0 and `executionSuccessful` is missing. Scanners exit with 1 if they found something,
//! so `executionSuccessful: true` takes precedence over the code. A notification with the level
//! `error` says that the run failed (3.20.21), whatever `executionSuccessful` says.
#![forbid(unsafe_code)]

mod invocation;
mod log;
mod post_processor;
mod rules;
mod run;

pub use post_processor::{MAX_FILE, Sarif};

plumbline_sdk::module! {
    name: "sarif",
    formats: ["sarif"],
    default_files: ["**/*.sarif", "**/*.sarif.json"],
    detect: [
        { "title": "SARIF", "prefix": ["{"], "contains": ["\"$schema\"", "sarif", "\"runs\""] },
        { "title": "SARIF", "prefix": ["{"], "contains": ["\"$schema\"", "sarif", "\"version\""] },
        { "title": "SARIF", "prefix": ["{"], "contains": ["\"runs\"", "\"2.1.0\""] },
        { "title": "SARIF", "files": ["**/*.sarif", "**/*.sarif.json"], "prefix": ["{"] }
    ],
    schema: {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "fail-on": { "type": "array", "minItems": 1, "items": { "enum": ["error", "warning", "note", "none"] } }
        }
    },
    post_processor: Sarif,
}
