//! A history as one HTML page without scripts. Sparklines are SVG.

use std::fmt::Write as _;
use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use crate::difference::Outcome;
use crate::history::model::{HistoryReport, RunOverview, TestHistory};
use crate::history::text::{day, days, facts, label, share};
use crate::report::html;
use crate::report::text::{name, short_seconds};

/// The most tests in a list. More make browsers slow.
const MAX_TESTS: usize = 1_000;

/// The most runs in the table. Further ones are only counted.
const MAX_RUNS: usize = 200;

/// The most runs of a sparkline.
const MAX_POINTS: usize = 200;

/// The width of a run in a sparkline, and the height of one.
const STEP: usize = 4;
const HEIGHT: usize = 16;

/// Prints the page. With `every`, it lists every test of the report, and otherwise those that fail,
/// are flaky, or became much slower.
pub fn history_html(report: &HistoryReport, every: bool, out: &mut impl Write) -> io::Result<()> {
    let title = match (report.runs.first(), report.runs.last()) {
        (Some(first), Some(last)) => {
            let runs = if report.runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", report.runs.len()) };
            format!("History of {runs}, {}", days(first.started, last.started))
        }
        _ => "History".to_owned(),
    };
    let several = report.has_several_clusters();
    let mut put = |markup: Markup| out.write_all(markup.into_string().as_bytes());
    put(html! {
        (html::head(&title, None))
        header {
            h1 { (title) }
            p.soft { (report.tests.len()) " tests ran. In a strip, each mark is a run, the oldest first: "
                span.passed { "green" } " passed, " span.failed { "red" } " failed, " span.odd { "yellow" } " flaky." }
        }
        (PreEscaped("\n<main>\n"))
        (unreadable(report))
        h2 { "Clusters" }
        (clusters(report))
    })?;
    let lists = match every {
        true => vec![("Tests", report.tests.iter().collect::<Vec<_>>())],
        false => vec![("Failing", report.failing()), ("Flaky", report.flaky()), ("Much slower", report.slower())],
    };
    for (title, tests) in lists {
        put(html! { h2 { (title) " (" (tests.len()) ")" } "\n" })?;
        for test in tests.iter().take(MAX_TESTS) {
            put(row(test, several))?;
        }
        if tests.len() > MAX_TESTS {
            put(html! { p.soft { "and " (tests.len() - MAX_TESTS) " more: " code { "-o json" } " has all" } })?;
        }
    }
    put(runs(&report.runs))?;
    writeln!(out, "{}", html::END)
}

fn unreadable(report: &HistoryReport) -> Markup {
    html! {
        @if !report.unreadable.is_empty() {
            h2 { "Not read (" (report.unreadable.len()) ")" }
            ul { @for text in report.unreadable.iter().take(MAX_RUNS) { li.failed { (name(text)) } } }
            @if report.unreadable.len() > MAX_RUNS { p.soft { "and " (report.unreadable.len() - MAX_RUNS) " more" } }
        }
    }
}

fn clusters(report: &HistoryReport) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "cluster" }
                th scope="col" { "version" }
                @for title in ["runs", "without failures", "first", "last"] { th.n scope="col" { (title) } }
            } }
            tbody { @for one in &report.clusters { tr {
                th scope="row" { (name(one.cluster.as_deref().unwrap_or("–"))) }
                td { (name(one.version.as_deref().unwrap_or("–"))) }
                td.n { (one.runs) }
                td.n { (share(one.without_failures, one.runs)) }
                td.n { (day(one.first)) }
                td.n { (day(one.last)) }
            } } }
        } }
        "\n"
    }
}

fn row(test: &TestHistory, several: bool) -> Markup {
    html! {
        details {
            summary { (strip(&test.outcomes)) " " b { (label(test, several)) } br; span.soft { (facts(test).join(", ")) } }
            @if let Some(bad) = &test.first_bad {
                p { "First bad run: " (name(bad)) " (" (day(test.streak.since)) ")"
                    @if let Some(good) = &test.last_good { ". Last good run: " (name(good)) } }
            }
            @if test.longest_failing > 0 { p.soft { "Longest series of failures: " (test.longest_failing) " runs" } }
            @if test.durations.len() > 1 {
                p { (durations(&test.durations)) span.soft { " durations of passed runs, up to "
                    (short_seconds(f64::from(test.durations.iter().copied().max().unwrap_or_default()) / 1000.0)) } }
            }
            @if !test.versions.is_empty() { div.scroll { table {
                thead { tr { th scope="col" { "version" } th.n scope="col" { "passed" } th.n scope="col" { "flaky" } } }
                tbody { @for one in &test.versions { tr {
                    th scope="row" { (name(one.version.as_deref().unwrap_or("–"))) }
                    td.n { (share(one.passed, one.ran)) }
                    td.n { (share(one.flakes, one.ran)) }
                } } }
            } } }
        }
        "\n"
    }
}

fn runs(runs: &[RunOverview]) -> Markup {
    html! {
        h2 { "Runs (" (runs.len()) ")" }
        div.scroll { table {
            thead { tr {
                @for title in ["archive", "cluster", "version", "tool"] { th scope="col" { (title) } }
                @for title in ["passed", "failed", "flaky", "skipped", "other"] { th.n scope="col" { (title) } }
            } }
            tbody { @for run in runs.iter().rev().take(MAX_RUNS) { tr {
                th scope="row" { (name(&run.archive)) }
                @for fact in [&run.cluster, &run.version, &run.tool] { td { (name(fact.as_deref().unwrap_or("–"))) } }
                @for count in [run.passed, run.failed, run.flaky, run.skipped, run.other] { td.n { (count) } }
            } } }
        } }
        @if runs.len() > MAX_RUNS { p.soft { "and " (runs.len() - MAX_RUNS) " earlier runs" } }
        "\n"
    }
}

/// The newest outcomes as a strip: one mark for each run, of its colour and height.
fn strip(outcomes: &str) -> Markup {
    let letters: Vec<char> = outcomes.chars().collect();
    let shown = letters.get(letters.len().saturating_sub(MAX_POINTS)..).unwrap_or_default();
    let kinds = [
        (Outcome::Passed, "passed", HEIGHT / 2),
        (Outcome::Failed, "failed", HEIGHT),
        (Outcome::Flaky, "odd", HEIGHT),
        (Outcome::Other, "soft", HEIGHT / 4),
    ];
    let width = shown.len() * STEP;
    html! {
        svg width=(width) height=(HEIGHT) viewBox={ "0 0 " (width) " " (HEIGHT) } role="img" aria-label=(shown.iter().collect::<String>()) {
            @for (outcome, class, height) in kinds {
                @let path = marks(shown, outcome.letter(), height);
                @if !path.is_empty() { path class=(class) fill="currentColor" d=(path) {} }
            }
        }
    }
}

/// The marks of one outcome as a path. Neighbours are one rectangle.
fn marks(shown: &[char], letter: char, height: usize) -> String {
    let (mut path, mut at) = (String::new(), 0);
    for group in shown.chunk_by(|a, b| a == b) {
        if group.first() == Some(&letter) {
            // Writing to a text does not fail.
            let _ = write!(
                path,
                "M{} {}h{}v{height}h-{}z",
                at * STEP,
                HEIGHT - height,
                group.len() * STEP,
                group.len() * STEP
            );
        }
        at += group.len();
    }
    path
}

/// The newest durations as a line, scaled to the longest one.
fn durations(millis: &[u32]) -> Markup {
    let shown = millis.get(millis.len().saturating_sub(MAX_POINTS)..).unwrap_or_default();
    let longest = f64::from(shown.iter().copied().max().unwrap_or_default().max(1));
    let mut points = String::new();
    for (at, millis) in shown.iter().enumerate() {
        let y = (HEIGHT as f64 - 1.0) * (1.0 - f64::from(*millis) / longest) + 0.5;
        let _ = write!(points, "{},{y:.1} ", at * STEP);
    }
    let width = shown.len().saturating_sub(1).max(1) * STEP;
    html! {
        svg width=(width) height=(HEIGHT) viewBox={ "0 0 " (width) " " (HEIGHT) } role="img" aria-label="durations" {
            polyline points=(points.trim_end()) fill="none" stroke="currentColor" {}
        }
    }
}
