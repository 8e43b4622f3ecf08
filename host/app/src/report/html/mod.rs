//! Trees as one HTML page without scripts, fonts and other resources.

mod section;

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plumbline_core::judgement::{PluginVerdict, RuledItem, VerdictStatus};
use plumbline_core::{Item, Status};

use crate::report::html::section::section;
use crate::report::text::{LeafCounts, name, seconds_of, short_seconds};

/// The style sheet.
const STYLE: &str = include_str!("style.css");

/// The content security policy. Even if markup from results were not escaped, it could not load or
/// run anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The head of the page.
#[derive(Debug, Clone, Default)]
pub struct PageFacts {
    /// The archive's name.
    pub archive: String,
    /// The ID of the run.
    pub run: Option<String>,
    /// The tool that made the archive, with its version.
    pub tool: Option<String>,
}

/// A page that is being written. The sections of plugins are in a temporary file until the table
/// above them is known, so at most one tree is in memory.
pub struct Page {
    parts: BufWriter<File>,
    rows: Vec<Row>,
}

impl Page {
    /// Starts an empty page.
    pub fn new() -> io::Result<Self> {
        Ok(Self { parts: BufWriter::new(tempfile::tempfile()?), rows: Vec::new() })
    }

    /// Adds the section of a plugin: its tree, or a part of it, and its verdict.
    pub fn plugin(&mut self, root: &Item, verdict: Option<&PluginVerdict>) -> io::Result<()> {
        let row = row(root, verdict);
        section(self.rows.len() + 1, &row, root, verdict, &mut self.parts)?;
        self.rows.push(row);
        Ok(())
    }

    /// Writes the page.
    pub fn finish(self, facts: &PageFacts, out: &mut impl Write) -> io::Result<()> {
        let title = format!("Results of {}", name(&facts.archive));
        let head = html! {
            (DOCTYPE)
            (PreEscaped("<html lang=\"en\">\n"))
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            (PreEscaped("\n<body>\n"))
            header {
                h1 { (title) }
                p.soft {
                    @if let Some(run) = &facts.run { "run " (name(run)) }
                    @if facts.run.is_some() && facts.tool.is_some() { " · " }
                    @if let Some(tool) = &facts.tool { (name(tool)) }
                }
            }
            (PreEscaped("\n<main>\n"))
            (summary(&self.rows))
        };
        out.write_all(head.into_string().as_bytes())?;
        let mut parts = self.parts.into_inner().map_err(io::IntoInnerError::into_error)?;
        parts.seek(SeekFrom::Start(0))?;
        io::copy(&mut parts, out)?;
        writeln!(out, "</main>\n</body>\n</html>")
    }
}

pub(super) struct Row {
    pub(super) plugin: String,
    pub(super) status: Status,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) other: u64,
    /// The sum of durations, if items have them.
    pub(super) seconds: Option<f64>,
    pub(super) verdict: Option<VerdictStatus>,
}

fn row(root: &Item, verdict: Option<&PluginVerdict>) -> Row {
    let counts = LeafCounts::of(root);
    Row {
        plugin: root.name.clone(),
        status: root.status.clone(),
        passed: counts.passed,
        failed: counts.failed,
        skipped: counts.skipped,
        other: counts.other(),
        seconds: root.leaves().filter_map(seconds_of).reduce(|sum, seconds| sum + seconds),
        verdict: verdict.map(|verdict| verdict.status),
    }
}

pub(super) fn summary(rows: &[Row]) -> Markup {
    let judged = rows.iter().any(|row| row.verdict.is_some());
    let timed = rows.iter().any(|row| row.seconds.is_some());
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "plugin" }
                th scope="col" { "status" }
                @if judged { th scope="col" { "verdict" } }
                @for title in ["passed", "failed", "skipped", "other"] { th.n scope="col" { (title) } }
                @if timed { th.n scope="col" { "time in tests" } }
            } }
            tbody { @for (at, row) in rows.iter().enumerate() { tr {
                th scope="row" { a href={ "#p" (at + 1) } { (name(&row.plugin)) } }
                td { (status(&row.status.brief())) }
                @if judged { td { @if let Some(verdict) = row.verdict { (status(verdict.as_str())) } } }
                @for count in [row.passed, row.failed, row.skipped, row.other] { td.n { (count) } }
                @if timed { td.n { @if let Some(seconds) = row.seconds { (short_seconds(seconds)) } } }
            } } }
        } }
        "\n"
    }
}

pub(super) fn status(text: &str) -> Markup {
    html! { span class={ "status " (colour(text)) } { (name(text)) } }
}

pub(super) fn colour(status: &str) -> &'static str {
    match status {
        "passed" => "passed",
        "failed" | "timeout" => "failed",
        _ => "odd",
    }
}

/// The most checks in the table.
const MAX_CHECKS: usize = 1_000;

pub(super) fn class(ruled: &RuledItem) -> Markup {
    let colour = if ruled.ruling.counts { "failed" } else { "passed" };
    html! { span class={ "class " (colour) } { (name(&ruled.ruling.class)) } @if !ruled.ruling.counts { span.soft { " does not count" } } }
}

pub(super) fn why(ruled: &RuledItem) -> Markup {
    let ruling = &ruled.ruling;
    html! {
        p { @if !ruled.judge.is_empty() { b { (name(&ruled.judge)) } ": " } (name(&ruling.reason)) }
        @if !ruling.source.is_empty() { p.soft { "from " (name(&ruling.source)) } }
    }
}

pub(super) fn verdict_markup(verdict: &PluginVerdict) -> Markup {
    html! {
        h3 { "Verdict " (status(verdict.status.as_str())) }
        @for judge in verdict.chain.iter().filter(|judge| judge.error.is_some()) {
            p.failed { "judge " b { (name(&judge.judge)) } " did not finish: " (name(judge.error.as_deref().unwrap_or_default())) }
        }
        @if !verdict.classes.is_empty() { div.scroll { table {
            thead { tr { th scope="col" { "class" } th.n scope="col" { "items" } th.n scope="col" { "that count" } } }
            tbody { @for (class, count) in &verdict.classes { tr {
                th scope="row" { (name(class)) } td.n { (count.items) } td.n { (count.counting) }
            } } }
        } } }
        @if !verdict.checks.is_empty() { div.scroll { table {
            thead { tr { @for title in ["check", "", "outcome", "wanted", "found", ""] { th scope="col" { (title) } } } }
            tbody { @for check in verdict.checks.iter().take(MAX_CHECKS).map(|judged| &judged.check) { tr {
                th scope="row" { (name(&check.id)) }
                td { (name(&check.name)) }
                td { span class={ "status " (colour(check.outcome.as_str())) } { (check.outcome.as_str()) } }
                td { (name(&check.want)) }
                td { (name(&check.got)) }
                td { (name(&check.reason)) }
            } } }
        } } }
        @if verdict.checks.len() > MAX_CHECKS { p.soft { "and " (verdict.checks.len() - MAX_CHECKS) " more checks" } }
        @if verdict.left_out > 0 { p.soft { (verdict.left_out) " items are counted, but not listed one by one" } }
        "\n"
    }
}
