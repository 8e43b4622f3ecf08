//! The output of the programme's test suite: `junit.xml`, `results.json` and `e2e.log`.

use std::collections::BTreeMap;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::Deserialize;

/// The names of the files in a submission.
pub(crate) const JUNIT: &str = "junit.xml";
pub(crate) const RESULTS: &str = "results.json";
pub(crate) const LOG: &str = "e2e.log";

/// The outcome of a test. A worse one replaces a better one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Passed,
    Skipped,
    Failed,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        })
    }
}

/// The tests in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    tests: BTreeMap<String, Outcome>,
    /// Failures that belong to no test, such as a suite that did not finish.
    problems: Vec<String>,
}

impl Report {
    fn record(&mut self, name: &str, outcome: Outcome) {
        let known = self.tests.entry(name.to_owned()).or_insert(outcome);
        *known = outcome.max(*known);
    }

    /// Returns the outcome of a test. One failed subtest fails it. If it has subtests, one of them
    /// must have passed: Go reports a test as passed although all of its subtests were skipped.
    pub(crate) fn outcome_of(&self, name: &str) -> Option<Outcome> {
        self.outcome_of_subtests(name).max(self.tests.get(name).copied())
    }

    /// Returns the outcome of the subtests of a test. Those with subtests of their own do not count.
    fn outcome_of_subtests(&self, name: &str) -> Option<Outcome> {
        let last = self.below(name).filter(|(test, _)| self.below(test).next().is_none());
        match self.below(name).map(|(_, outcome)| outcome).max()? {
            Outcome::Failed => Some(Outcome::Failed),
            _ => last.map(|(_, outcome)| outcome).min(),
        }
    }

    /// Returns the subtests of a test, and theirs.
    fn below(&self, name: &str) -> impl Iterator<Item = (&str, Outcome)> {
        let first = format!("{name}/");
        let tests = self.tests.range(first.clone()..).map(|(test, outcome)| (test.as_str(), *outcome));
        tests.take_while(move |(test, _)| test.starts_with(&first))
    }

    /// Returns what failed: tests, and what belongs to none.
    pub(crate) fn failures(&self) -> Vec<String> {
        let failed = self.tests.iter().filter(|(_, outcome)| **outcome == Outcome::Failed);
        failed.map(|(name, _)| format!("test `{name}` failed")).chain(self.problems.iter().cloned()).collect()
    }

    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.tests.values().filter(|of| **of == outcome).count()
    }

    fn checked(self) -> Result<Self, String> {
        if self.tests.is_empty() { Err("it has no results of tests".to_owned()) } else { Ok(self) }
    }
}

/// Reads a file of a submission by its name.
pub(crate) fn parse(name: &str, text: &str) -> Result<Report, String> {
    match name {
        JUNIT => junit(text),
        RESULTS => events(text),
        _ => log(text),
    }
}

/// Reads the output of `go test -v`.
fn log(text: &str) -> Result<Report, String> {
    let (mut report, mut finished) = (Report::default(), false);
    for line in text.lines() {
        if let Some((name, outcome)) = result_line(line) {
            report.record(name, outcome);
        } else if line == "FAIL" || line.starts_with("FAIL\t") || line.starts_with("panic: ") {
            report.problems.push(format!("the log has the line `{}`", line.replace('\t', " ")));
        } else if line == "PASS" || line.starts_with("ok  \t") {
            finished = true;
        }
    }
    if !finished && report.problems.is_empty() {
        report.problems.push("the log does not show that the suite finished".to_owned());
    }
    report.checked()
}

/// Reads a line such as `--- PASS: TestGangScheduling (12.34s)`.
fn result_line(line: &str) -> Option<(&str, Outcome)> {
    let rest = line.trim_start().strip_prefix("--- ")?;
    let (word, rest) = rest.split_once(": ")?;
    let outcome = match word {
        "PASS" => Outcome::Passed,
        "FAIL" => Outcome::Failed,
        "SKIP" => Outcome::Skipped,
        _ => return None,
    };
    Some((rest.split_whitespace().next()?, outcome))
}

/// An event of `go test -json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TestEvent {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
}

/// Reads the output of `go test -json`.
fn events(text: &str) -> Result<Report, String> {
    let (mut report, mut finished) = (Report::default(), false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let event: TestEvent = serde_json::from_str(line)
            .map_err(|error| format!("line {number} is not an event of `go test -json`: {error}"))?;
        let outcome = match event.action.as_str() {
            "pass" => Outcome::Passed,
            "fail" => Outcome::Failed,
            "skip" => Outcome::Skipped,
            "build-fail" => {
                report.problems.push("the suite was not built".to_owned());
                continue;
            }
            _ => continue,
        };
        match (event.test.is_empty(), outcome) {
            (false, _) => report.record(&event.test, outcome),
            (true, Outcome::Failed) => report.problems.push(format!("package `{}` failed", event.package)),
            (true, Outcome::Passed) => finished = true,
            (true, Outcome::Skipped) => {}
        }
    }
    if !finished && report.problems.is_empty() {
        report.problems.push("no event shows that the suite finished".to_owned());
    }
    report.checked()
}

/// Reads a JUnit report.
fn junit(text: &str) -> Result<Report, String> {
    let mut reader = Reader::from_str(text);
    let (mut report, mut open) = (Report::default(), Vec::<Vec<u8>>::new());
    let mut case: Option<(String, Outcome)> = None;
    let mut declared = 0;
    loop {
        let event = reader.read_event().map_err(|error| format!("it is not well-formed XML: {error}"))?;
        match event {
            Event::Start(tag) => {
                start(&tag, &open, &mut case, &mut declared)?;
                open.push(tag.local_name().as_ref().to_vec());
            }
            Event::Empty(tag) => {
                start(&tag, &open, &mut case, &mut declared)?;
                close(tag.local_name().as_ref(), &mut case, &mut report);
            }
            Event::End(tag) => {
                open.pop();
                close(tag.local_name().as_ref(), &mut case, &mut report);
            }
            Event::Eof if open.is_empty() => break,
            Event::Eof => return Err("it is not well-formed XML: it ends inside an element".to_owned()),
            _ => {}
        }
    }
    let failed = report.count(Outcome::Failed);
    if declared > failed {
        report.problems.push(format!("it declares {declared} failures, and {failed} of its tests failed"));
    }
    report.checked()
}

/// Reads the start of an element.
fn start(
    tag: &BytesStart<'_>,
    open: &[Vec<u8>],
    case: &mut Option<(String, Outcome)>,
    declared: &mut usize,
) -> Result<(), String> {
    match (tag.local_name().as_ref(), case.as_mut()) {
        (b"testcase", None) => {
            let name = attribute(tag, "name")?.ok_or("a test has no name")?;
            *case = Some((name, Outcome::Passed));
        }
        (b"testcase", Some(_)) => return Err("a test is inside a test".to_owned()),
        (b"failure" | b"error", Some((_, outcome))) => *outcome = Outcome::Failed,
        (b"skipped", Some((_, outcome))) => *outcome = Outcome::Skipped.max(*outcome),
        (b"testsuite" | b"testsuites", _) => {
            let number = |name| Ok::<_, String>(attribute(tag, name)?.and_then(|text| text.parse::<usize>().ok()));
            let here = number("failures")?.unwrap_or_default() + number("errors")?.unwrap_or_default();
            *declared = here.max(*declared);
        }
        (other, _) if open.is_empty() => {
            return Err(format!("its root is `{}`: expected `testsuites`", String::from_utf8_lossy(other)));
        }
        _ => {}
    }
    Ok(())
}

fn close(name: &[u8], case: &mut Option<(String, Outcome)>, report: &mut Report) {
    if name == b"testcase"
        && let Some((name, outcome)) = case.take()
    {
        report.record(&name, outcome);
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("it is not well-formed XML: {error}");
    let found = tag.try_get_attribute(name).map_err(|error| wrong(&error))?;
    found
        .map(|found| {
            found.normalized_value(XmlVersion::Implicit1_0).map(|text| text.into_owned()).map_err(|error| wrong(&error))
        })
        .transpose()
}

#[cfg(test)]
#[path = "artifacts_tests.rs"]
mod tests;
