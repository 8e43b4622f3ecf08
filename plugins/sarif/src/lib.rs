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
//! | suppressions, all of them accepted, or the baseline state `absent` | `skipped` |
//! | kind `pass`, `notApplicable` | `passed`, `skipped` |
//! | kind `open`, `review`, `informational` | that word |
//! | another kind or level | `unknown` |
//! | a run with an empty list of results | `passed` |
//! | a run without a list of results | `unknown` |
//! | results or invocations in other files; the level of a result in the rule of another file | `unknown` |
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
mod rules;
mod run;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};
use serde::Deserialize;

use log::{Log, Run};
use run::LEVELS;

/// Maximum size of a log in bytes: 64 MiB.
pub const MAX_FILE: u64 = 64 << 20;

/// The post-processor for SARIF.
#[derive(Debug, Clone, Copy)]
pub struct Sarif;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
struct Options {
    fail_on: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { fail_on: vec!["error".to_owned()] }
    }
}

impl PostProcessor for Sarif {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let Options { fail_on } = plugin.options()?;
        if fail_on.is_empty() {
            return Err(format!(
                "the option `fail-on` names no level, so nothing could fail; levels are {}",
                LEVELS.join(", ")
            ));
        }
        if let Some(level) = fail_on.iter().find(|level| !LEVELS.contains(&level.as_str())) {
            return Err(format!("the option `fail-on` names `{level}`; levels are {}", LEVELS.join(", ")));
        }
        for file in files {
            let item = Item::of_file(&file);
            match read(file) {
                Ok(runs) => {
                    out.emit(item);
                    runs.iter().for_each(|run| run::emit(run, &fail_on, out));
                }
                Err(error) => out.emit(item.status(Status::Unknown).meta("error", error)),
            }
        }
        Ok(())
    }
}

fn read(mut file: InputFile) -> Result<Vec<Run>, String> {
    let text = file.read_within(MAX_FILE).map_err(|error| error.to_string())?;
    let text = text.ok_or_else(|| format!("the log has more than {} MiB", MAX_FILE >> 20))?;
    let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let log: Log = serde_json::from_slice(json).map_err(|error| format!("not a SARIF log: {error}"))?;
    match log.version {
        Some(version) if version.starts_with("2.1.") => {}
        Some(version) => {
            let shown: String = version.chars().take(40).collect();
            return Err(format!("SARIF version `{shown}`: this module reads 2.1.0"));
        }
        None => return Err("not a SARIF log: it has no version".to_owned()),
    }
    match log.runs {
        Some(runs) if !runs.is_empty() => Ok(runs),
        Some(_) => Err("the log has no runs: nothing was analysed".to_owned()),
        None => Err("not a SARIF log: it has no list of runs".to_owned()),
    }
}

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
