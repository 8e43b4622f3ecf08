//! The Common Test Report Format (CTRF), schema 0.0.0.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::report::renderers::leaf::detail;
use crate::report::renderers::{ArchiveFacts, Leaf, Outcome, Renderer, TOOL, VERSION, write_json};
use crate::report::text::name;

/// The version of the format.
const SPECIFICATION: &str = "0.0.0";

/// Writes the tests as they come, and what is known only at the end after them.
pub(super) struct Ctrf<'a> {
    out: &'a mut dyn Write,
    archives: Vec<ArchiveFacts>,
    counts: Counts,
    /// The first start and the last end of tests, in milliseconds since 1970.
    first: Option<i64>,
    last: Option<i64>,
}

#[derive(Default)]
struct Counts {
    tests: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    other: u64,
    flaky: u64,
}

impl<'a> Ctrf<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, archives: Vec::new(), counts: Counts::default(), first: None, last: None }
    }

    /// The archive, if there is only one.
    fn only_archive(&self) -> Option<&ArchiveFacts> {
        match self.archives.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn summary(&self) -> Value {
        let Counts { tests, passed, failed, skipped, other, flaky } = self.counts;
        let of = |time: jiff::Timestamp| time.as_millisecond();
        let start = self.archives.iter().filter_map(|archive| archive.started).map(of).min().or(self.first);
        let stop = self.archives.iter().filter_map(|archive| archive.ended).map(of).max().or(self.last);
        let duration = start.zip(stop).map(|(start, stop)| stop.saturating_sub(start).max(0));
        json!({
            "tests": tests, "passed": passed, "failed": failed, "skipped": skipped, "pending": 0, "other": other,
            "flaky": flaky,
            // The format requires both.
            "start": start.unwrap_or_default(), "stop": stop.or(start).unwrap_or_default(),
            "duration": duration,
        })
    }
}

impl Renderer for Ctrf<'_> {
    fn archive(&mut self, facts: &ArchiveFacts) -> io::Result<()> {
        self.archives.push(facts.clone());
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let status = status(leaf.outcome());
        let before = if self.counts.tests == 0 { head() } else { ",\n".to_owned() };
        self.out.write_all(before.as_bytes())?;
        self.counts.tests += 1;
        self.counts.flaky += u64::from(is_flaky(leaf));
        *match status {
            "passed" => &mut self.counts.passed,
            "failed" => &mut self.counts.failed,
            "skipped" => &mut self.counts.skipped,
            _ => &mut self.counts.other,
        } += 1;
        self.first = self.first.into_iter().chain(leaf.start()).min();
        self.last = self.last.into_iter().chain(leaf.stop()).max();
        write_json(self.out, test(leaf, status))
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.counts.tests == 0 {
            self.out.write_all(head().as_bytes())?;
        }
        let archive = self.only_archive();
        let run = archive.and_then(|archive| archive.run.clone());
        let made_by = archive.and_then(|archive| archive.tool.clone());
        let (tool, version) = made_by.unwrap_or_else(|| (TOOL, VERSION.to_owned()));
        let extra = archive.map(|archive| json!({"archive": archive.file, "kubernetes": archive.kubernetes}));
        write!(self.out, "\n],\"tool\":")?;
        write_json(self.out, json!({"name": tool, "version": version}))?;
        write!(self.out, ",\"summary\":")?;
        let summary = self.summary();
        write_json(self.out, summary)?;
        write!(self.out, ",\"environment\":")?;
        write_json(self.out, json!({"extra": extra}))?;
        write!(self.out, "}}")?;
        if let Some(run) = run {
            write!(self.out, ",\"runId\":")?;
            write_json(self.out, json!(run))?;
        }
        writeln!(self.out, "}}")
    }
}

fn head() -> String {
    format!(
        "{{\"reportFormat\":\"CTRF\",\"specVersion\":\"{SPECIFICATION}\",\"generatedBy\":\"{TOOL} {VERSION}\",\"results\":{{\"tests\":[\n"
    )
}

/// The status in CTRF. Statuses without an equivalent are `other`, and never `passed`.
fn status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed | Outcome::Broken => "failed",
        Outcome::Skipped | Outcome::Excused => "skipped",
        Outcome::NotRead | Outcome::Custom => "other",
    }
}

fn is_flaky(leaf: &Leaf<'_>) -> bool {
    leaf.meta("flaky") == Some("true")
}

fn test(leaf: &Leaf<'_>, status: &str) -> Value {
    let suite: Vec<String> =
        [leaf.plugin].into_iter().chain(leaf.id.suites.iter().map(String::as_str)).map(name).collect();
    let lines = |key: &str| {
        let text = (status != "passed").then(|| detail(&leaf.item, key)).flatten();
        text.map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let location = leaf.location();
    let raw = leaf.status.as_str();
    json!({
        "name": name(&leaf.id.name),
        "status": status,
        // The format requires it.
        "duration": leaf.duration().unwrap_or_default(),
        "testId": leaf.test_id(true),
        "start": leaf.start(),
        "stop": leaf.stop(),
        "suite": suite,
        "message": leaf.message(),
        "trace": leaf.trace(),
        "rawStatus": Some(raw).filter(|raw| *raw != status),
        "filePath": location.as_ref().map(|location| location.path),
        "line": location.as_ref().and_then(|location| location.line),
        "retries": leaf.meta("retries").and_then(|retries| retries.parse::<u32>().ok()),
        "flaky": Some(true).filter(|_| is_flaky(leaf)),
        "stdout": lines("system-out"),
        "stderr": lines("system-err"),
        "labels": {
            "plugin": leaf.plugin,
            "node": leaf.id.node,
            "class": Some(&leaf.id.classname).filter(|class| !class.is_empty()),
            "cause": leaf.cause,
        },
        "extra": {"file": Some(&leaf.source).filter(|file| !file.is_empty()), "ruling": leaf.ruling()},
    })
}
