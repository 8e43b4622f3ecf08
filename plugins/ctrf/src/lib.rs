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

use plumbline_sdk::text::{cut, decimal};
use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};
use serde::Deserialize;

/// Maximum size of a report in bytes: 64 MiB, which is several hundred thousand tests.
pub const MAX_FILE: u64 = 64 << 20;

/// Maximum size of a name in bytes, below the host's 64 KiB.
const MAX_NAME: usize = 32 << 10;
/// Maximum size of a message or a stack trace in bytes.
const MAX_TEXT: usize = 64 << 10;

/// The post-processor for CTRF.
#[derive(Debug, Clone, Copy)]
pub struct Ctrf;

impl PostProcessor for Ctrf {
    fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        for file in files {
            let item = Item::of_file(&file);
            match read(file) {
                Ok(report) => emit(report.results, item, out),
                Err(error) => out.emit(item.status(Status::Unknown).meta("error", error)),
            }
        }
        Ok(())
    }
}

fn read(mut file: InputFile) -> Result<Report, String> {
    let text = file.read_within(MAX_FILE).map_err(|error| error.to_string())?;
    let text = text.ok_or_else(|| format!("the report has more than {} MiB", MAX_FILE >> 20))?;
    let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let report: Report = serde_json::from_slice(json).map_err(|error| format!("not a CTRF report: {error}"))?;
    if report.results.tests.is_empty() { Err("the report has no tests".to_owned()) } else { Ok(report) }
}

fn emit(results: Results, file: Item, out: &mut Output) {
    let tool =
        results.tool.and_then(|tool| Some([Some(tool.name?), tool.version].map(Option::unwrap_or_default).join(" ")));
    out.emit(match tool {
        Some(tool) => file.meta("tool", cut(tool.trim(), MAX_NAME)),
        None => file,
    });
    let mismatch = results.summary.and_then(|summary| contradiction(&summary, &results.tests));
    let mut open: Option<String> = None;
    for test in results.tests {
        let group = test.group();
        if group != open
            && let Some(name) = &group
        {
            out.emit(Item::new(1, cut(name, MAX_NAME)).meta("type", "suite"));
        }
        out.emit(item(test, if group.is_some() { 2 } else { 1 }));
        open = group;
    }
    if let Some(item) = mismatch {
        out.emit(item);
    }
}

/// Returns an item if the summary counts tests that the report does not have.
fn contradiction(summary: &Summary, tests: &[Test]) -> Option<Item> {
    let above = |status: &str, counted: Option<u64>| {
        let listed = tests.iter().filter(|test| test.counted_as() == status).count() as u64;
        let counted = counted.filter(|counted| *counted > listed)?;
        Some(format!("the summary counts {counted} {status} tests, and the report has {listed}"))
    };
    let item = Item::new(1, "summary");
    if let Some(text) = above("failed", summary.failed) {
        return Some(item.status(Status::Failed).text("failure", text));
    }
    let count = tests.len() as u64;
    let total = summary.tests.filter(|tests| *tests != count);
    let error = total
        .map(|tests| format!("the summary counts {tests} tests, and the report has {count}"))
        .or_else(|| above("passed", summary.passed))
        .or_else(|| above("skipped", summary.skipped))
        .or_else(|| above("pending", summary.pending))
        .or_else(|| above("other", summary.other))?;
    Some(item.status(Status::Unknown).meta("error", error))
}

fn item(test: Test, depth: u32) -> Item {
    let Test { name, status, duration, start, message, trace, flaky, retries, file_path, line, .. } = test;
    let name = if name.trim().is_empty() { "(no name)" } else { cut(&name, MAX_NAME) };
    let (status, error) = match status.as_str() {
        "passed" => (Status::Passed, None),
        "failed" => (Status::Failed, None),
        "skipped" | "pending" => (Status::Skipped, None),
        other => (Status::Unknown, Some(format!("status `{}`", cut(other, 100)))),
    };
    let texts: Vec<&str> = [&message, &trace].into_iter().flatten().map(|text| cut(text.trim(), MAX_TEXT)).collect();
    let text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let key = if status == Status::Failed { "failure" } else { "message" };
    let mut item = Item::new(depth, name);
    if status != Status::Skipped {
        for (key, milliseconds) in [("duration", duration), ("start", start.filter(|start| *start > 0.0))] {
            if let Some(milliseconds) = milliseconds.filter(|time| (0.0..1e15).contains(time)) {
                item = item.meta(key, decimal(milliseconds / 1000.0, 6));
            }
        }
    }
    if let Some(path) = file_path.filter(|path| !path.is_empty()) {
        let line = line.and_then(|line| line.as_u64()).map(|line| format!(":{line}")).unwrap_or_default();
        item = item.meta("location", format!("{}{line}", cut(&path, MAX_NAME)));
    }
    if flaky == Some(true) {
        item = item.meta("flaky", "true");
    }
    if let Some(retries) = retries.filter(|retries| *retries > 0) {
        item = item.meta("retries", retries.to_string());
    }
    if let Some(error) = error {
        item = item.meta("error", error);
    }
    if !text.is_empty() {
        item = item.text(key, text);
    }
    item.status(status)
}

#[derive(Debug, Deserialize)]
struct Report {
    results: Results,
}

#[derive(Debug, Deserialize)]
struct Results {
    tool: Option<Tool>,
    summary: Option<Summary>,
    tests: Vec<Test>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: Option<String>,
    version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    tests: Option<u64>,
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
    pending: Option<u64>,
    other: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    name: String,
    status: String,
    /// Milliseconds.
    duration: Option<f64>,
    /// Milliseconds since 1970.
    start: Option<f64>,
    suite: Option<Suite>,
    message: Option<String>,
    trace: Option<String>,
    file_path: Option<String>,
    line: Option<serde_json::Value>,
    flaky: Option<bool>,
    retries: Option<u64>,
}

/// A name, or the names of the suite and its parent suites.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Suite {
    Name(String),
    Path(Vec<String>),
}

impl Test {
    /// Returns the key of the summary that counts the test.
    fn counted_as(&self) -> &str {
        match self.status.as_str() {
            status @ ("passed" | "failed" | "skipped" | "pending") => status,
            _ => "other",
        }
    }

    /// Returns the name of the group that the test belongs to.
    fn group(&self) -> Option<String> {
        let suite = match &self.suite {
            Some(Suite::Name(name)) => name.clone(),
            Some(Suite::Path(names)) => names.join(" > "),
            None => String::new(),
        };
        Some(suite)
            .filter(|suite| !suite.trim().is_empty())
            .or_else(|| self.file_path.clone())
            .filter(|name| !name.is_empty())
    }
}

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
