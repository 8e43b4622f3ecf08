//! Parts of the page: the table of plugins, statuses, classes and verdicts.

use maud::{Markup, html};
use plumbline_core::judgement::{PluginVerdict, RuledItem, VerdictStatus};
use plumbline_core::{Item, Status};

use crate::report::text::{LeafCounts, name, seconds_of, short_seconds};

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

pub(super) fn row(root: &Item, verdict: Option<&PluginVerdict>) -> Row {
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
        @if verdict.left_out > 0 { p.soft { (verdict.left_out) " items are counted, and not told one by one" } }
        "\n"
    }
}
