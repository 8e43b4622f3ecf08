//! The table of plugins at the top of the page.

use maud::{Markup, html};
use plumbline_core::judgement::{PluginVerdict, VerdictStatus};
use plumbline_core::{Item, Status};

use crate::report::text::{name, seconds_of, short_seconds};

/// The totals of a plugin.
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
    let mut row = Row {
        plugin: root.name.clone(),
        status: root.status.clone(),
        passed: 0,
        failed: 0,
        skipped: 0,
        other: 0,
        seconds: None,
        verdict: verdict.map(|verdict| verdict.status),
    };
    for leaf in root.leaves() {
        *match leaf.status {
            Status::Passed => &mut row.passed,
            Status::Failed | Status::Timeout => &mut row.failed,
            Status::Skipped => &mut row.skipped,
            _ => &mut row.other,
        } += 1;
        if let Some(seconds) = seconds_of(leaf) {
            row.seconds = Some(row.seconds.unwrap_or_default() + seconds);
        }
    }
    row
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

/// A status as a coloured word.
pub(super) fn status(text: &str) -> Markup {
    html! { span class={ "status " (colour(text)) } { (name(text)) } }
}

/// The class in the style sheet for a status.
pub(super) fn colour(status: &str) -> &'static str {
    match status {
        "passed" => "passed",
        "failed" | "timeout" => "failed",
        _ => "odd",
    }
}
