//! The parts of the page that need no script: the head, the tables of plugins, verdicts and nodes.

use maud::{Markup, html};
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::rollup::meaning;
use plumbline_core::{Status, Verdict};

use crate::report::facts::{Counts, ReportFacts, STARTED};
use crate::report::html::row::PluginRow;
use crate::report::nodes::{Drift, MAX_VALUES, Nodes, some_names};
use crate::report::text::{name, short_seconds};

/// The most checks in a table.
const MAX_CHECKS: usize = 1_000;

/// The most facts that differ between nodes.
const MAX_DRIFT: usize = 200;

pub(super) fn header(title: &str, verdict: Verdict, facts: &ReportFacts, rows: &[PluginRow]) -> Markup {
    let mut counts = Counts::default();
    for row in rows {
        counts.items = counts.items.saturating_add(row.items());
        counts.counting = counts.counting.saturating_add(row.counting);
        counts.excused = counts.excused.saturating_add(row.excused);
        counts.add_checks(row.verdict.as_ref());
    }
    let nodes = rows.iter().map(|row| row.nodes.len()).max().unwrap_or_default();
    html! {
        header {
            h1 { (title) }
            p.verdict { span class={ "status " (verdict_class(verdict)) } { (verdict.as_str()) } " " (counts.sentence()) }
            dl.facts { @for (title, fact) in facts.titled(nodes) { div {
                dt { (title) }
                dd { @match facts.started.filter(|_| title == STARTED) {
                    Some(started) => { time datetime=(started.to_string()) { (fact) } },
                    None => { (name(&fact)) },
                } }
            } } }
            nav aria-label="Parts of the page" {
                a href="#failures" { "Failures" } " " a href="#items" { "All items" } " " a href="#plugins" { "Plugins" } " "
                a href="#nodes" { "Nodes" } " " a href="#timeline" { "Timeline" } " " a href="#slowest" { "Slowest" }
            }
        }
        "\n"
    }
}

pub(super) fn plugins(rows: &[PluginRow]) -> Markup {
    let is_judged = rows.iter().any(|row| row.verdict.is_some());
    let is_timed = rows.iter().any(|row| row.seconds.is_some());
    html! {
        section aria-labelledby="plugins" {
            h2 id="plugins" { "Plugins" }
            div.scroll tabindex="0" role="region" aria-label="Table of plugins" { table {
                thead { tr {
                    th scope="col" { "plugin" }
                    th scope="col" { "status" }
                    @if is_judged { th scope="col" { "verdict" } }
                    @for title in ["passed", "failed", "skipped", "other"] { th.n scope="col" { (title) } }
                    @if is_timed { th.n scope="col" { "time in tests" } }
                } }
                tbody { @for row in rows { tr {
                    th scope="row" { (row.plugin) }
                    td class=[row.reason.as_ref().map(|_| "long")] { (status(&row.status.brief())) @if let Some(reason) = &row.reason { br; span.soft { (name(reason)) } } }
                    @if is_judged { td.long { @if let Some(verdict) = &row.verdict {
                        (status(verdict.status.as_str())) br; span.soft { (name(&sentence(verdict))) }
                    } } }
                    @for count in [row.passed, row.failed, row.skipped, row.other] { td.n { (count) } }
                    @if is_timed { td.n { @if let Some(seconds) = row.seconds { (short_seconds(seconds)) } } }
                } } }
            } }
        }
        "\n"
    }
}

/// The verdict's sentence without its status, which is before it.
fn sentence(verdict: &PluginVerdict) -> String {
    let sentence = verdict.summary().sentence();
    sentence.split_once(": ").map_or(sentence.clone(), |(_, rest)| rest.to_owned())
}

pub(super) fn status(text: &str) -> Markup {
    html! { span class={ "status " (colour(text)) } { (name(text)) } }
}

/// The class of a status for the style.
fn colour(status: &str) -> &'static str {
    match meaning(&status.into()) {
        Status::Passed => "passed",
        Status::Failed | Status::Timeout => "failed",
        _ => "odd",
    }
}

/// The class of the verdict of a run. Its words are not those of statuses: an interrupted run has not
/// failed.
fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed | Verdict::SystemFailure => "failed",
        Verdict::Incomplete | Verdict::NothingToJudge | Verdict::Interrupted => "odd",
    }
}

/// The classes and checks of each plugin with judges.
pub(super) fn verdicts(rows: &[PluginRow]) -> Markup {
    html! { @for row in rows { @if let Some(verdict) = &row.verdict { (verdict_of(row, verdict)) } } }
}

fn verdict_of(row: &PluginRow, verdict: &PluginVerdict) -> Markup {
    html! {
        section {
            h2 { "Verdict on " (row.plugin) " " (status(verdict.status.as_str())) }
            @for judge in verdict.chain.iter().filter(|judge| judge.error.is_some()) {
                p.failed { "judge " b { (name(&judge.judge)) } " did not finish: " (name(judge.error.as_deref().unwrap_or_default())) }
            }
            @if !verdict.classes.is_empty() { div.scroll tabindex="0" role="region" aria-label="Table of classes" { table {
                thead { tr { th scope="col" { "class" } th.n scope="col" { "items" } th.n scope="col" { "that count" } } }
                tbody { @for (class, count) in &verdict.classes { tr {
                    th scope="row" { (name(class)) } td.n { (count.items) } td.n { (count.counting) }
                } } }
            } } }
            @if !verdict.checks.is_empty() { div.scroll tabindex="0" role="region" aria-label="Table of checks" { table {
                thead { tr { @for title in ["check", "description", "outcome", "wanted", "found", "reason"] { th scope="col" { (title) } } } }
                tbody { @for check in verdict.checks.iter().take(MAX_CHECKS).map(|judged| &judged.check) { tr {
                    th scope="row" { (name(&check.id)) }
                    td.long { (name(&check.name)) }
                    td { (status(check.outcome.as_str())) }
                    td { (name(&check.want)) }
                    td { (name(&check.got)) }
                    td.long { (name(&check.reason)) }
                } } }
            } } }
            @if verdict.checks.len() > MAX_CHECKS { p.soft { "and " (verdict.checks.len() - MAX_CHECKS) " more checks" } }
            @if verdict.left_out > 0 { p.soft { (verdict.left_out) " rulings are not in the archive: there are too many" } }
        }
        "\n"
    }
}

/// What distinguishes the nodes on which something failed. The script adds the heat map.
pub(super) fn nodes(rows: &[PluginRow], nodes: &Nodes) -> Markup {
    html! {
        section id="nodes" aria-labelledby="nodes-title" {
            h2 id="nodes-title" { "Nodes" }
            @if rows.iter().all(|row| row.nodes.is_empty()) { p.soft { "No plugin has results per node." } }
            @for row in rows {
                @let failed = row.nodes.iter().filter(|(_, failed)| *failed).count();
                @if !row.nodes.is_empty() {
                    p { b { (row.plugin) } ": failures on " (failed) " of " (row.nodes.len()) " nodes" }
                    @let found = nodes.distinctions(&row.nodes);
                    @if !found.is_empty() { div.scroll tabindex="0" role="region" aria-label="What distinguishes failed nodes" { table {
                        thead { tr { th scope="col" { "property of failed nodes" } th scope="col" { "value" } th.n scope="col" { "failed nodes" } th.n scope="col" { "other nodes" } } }
                        tbody { @for it in &found { tr {
                            th scope="row" { (name(&it.key)) } td { (name(&it.value)) }
                            td.n { (it.failed.0) " of " (it.failed.1) } td.n { (it.others.0) " of " (it.others.1) }
                        } } }
                    } } }
                }
            }
            div id="heat" {}
        }
        "\n"
    }
}

/// The facts that differ between nodes, with the values side by side.
pub(super) fn drift(drift: &[Drift]) -> Markup {
    html! { @if !drift.is_empty() {
        section {
            h2 { "Facts that differ between nodes" }
            div.scroll tabindex="0" role="region" aria-label="Table of facts that differ" { table {
                thead { tr { th scope="col" { "fact" } th scope="col" { "most nodes" } th scope="col" { "other nodes" } } }
                tbody { @for it in drift.iter().take(MAX_DRIFT) { tr {
                    th scope="row" { (name(&it.fact)) }
                    td.long { code { (name(&it.majority.0)) } span.soft { " on " (it.majority.1) } }
                    td.long { @for (value, nodes, names) in it.differing.iter().take(MAX_VALUES) { div {
                        code { (name(value)) } span.soft { " on " (nodes) ": " (some_names(names, *nodes)) }
                    } }
                    @if it.differing.len() > MAX_VALUES { div.soft { "and " (it.differing.len() - MAX_VALUES) " more values" } } }
                } } }
            } }
            @if drift.len() > MAX_DRIFT { p.soft { "and " (drift.len() - MAX_DRIFT) " more facts" } }
        }
        "\n"
    } }
}

/// The place of the table, which the script fills.
pub(super) fn items(left_out: u64) -> Markup {
    html! {
        section id="items" aria-labelledby="items-title" {
            h2 id="items-title" { "All items" }
            @if left_out > 0 { p.soft { (left_out) " more items are not on this page: " code { "plumbline results -o json" } " has all" } }
            noscript { p.soft { "The table, the heat map and the timeline need JavaScript." } }
            div id="table" {}
        }
        "\n"
    }
}

/// The place of the timeline, which the script fills.
pub(super) fn timeline() -> Markup {
    html! {
        section id="timeline" aria-labelledby="timeline-title" {
            h2 id="timeline-title" { "Timeline" }
            div id="lanes" {}
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_run_is_red() {
        let shown = |verdict| header("run", verdict, &ReportFacts::default(), &[]).into_string();
        for (verdict, class) in [
            (Verdict::Passed, "passed"),
            (Verdict::Failed, "failed"),
            (Verdict::SystemFailure, "failed"),
            (Verdict::Incomplete, "odd"),
            (Verdict::NothingToJudge, "odd"),
            (Verdict::Interrupted, "odd"),
        ] {
            let wanted = format!("<span class=\"status {class}\">{verdict}</span>");
            assert!(shown(verdict).contains(&wanted), "{wanted}: {}", shown(verdict));
        }
        assert!(status("interrupted").into_string().contains("status failed"), "a test that was interrupted");
    }
}
