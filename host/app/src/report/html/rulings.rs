//! The rulings of judges, by leaf.

use std::collections::{HashMap, VecDeque};

use maud::{Markup, html};
use plumbline_core::judgement::{CheckOutcome, PluginVerdict, RuledItem};
use plumbline_core::{GLOBAL, Status};

use super::summary::{colour, status};
use crate::report::text::name;

/// The most checks in the table.
const MAX_CHECKS: usize = 1_000;

/// Rulings by the path and status of their leaf. Leaves with the same path and status are in the
/// order of the tree.
pub(super) struct Rulings<'a>(HashMap<String, VecDeque<&'a RuledItem>>);

impl<'a> Rulings<'a> {
    pub(super) fn new(verdict: Option<&'a PluginVerdict>) -> Self {
        let mut rulings: HashMap<String, VecDeque<&RuledItem>> = HashMap::new();
        for item in verdict.map(|verdict| verdict.items.as_slice()).unwrap_or_default() {
            // Only result sets of nodes are items of the tree.
            let set = Some(item.set.as_str()).filter(|set| !set.is_empty() && *set != GLOBAL);
            let names = set.into_iter().chain(item.path.iter().map(String::as_str));
            rulings.entry(joined(names, &item.status)).or_default().push_back(item);
        }
        Self(rulings)
    }

    /// The ruling on the next leaf with this path, which starts at the root, and this status.
    pub(super) fn next(&mut self, path: &[&str], status: &Status) -> Option<&'a RuledItem> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get_mut(&joined(path.iter().skip(1).copied(), status))?.pop_front()
    }
}

/// Joins names with zero bytes, which names in trees do not have.
fn joined<'a>(names: impl Iterator<Item = &'a str>, status: &'a Status) -> String {
    names.chain([status.as_str()]).collect::<Vec<_>>().join("\0")
}

/// The class of a ruling.
pub(super) fn class(ruled: &RuledItem) -> Markup {
    let colour = if ruled.ruling.counts { "failed" } else { "passed" };
    html! { span class={ "class " (colour) } { (name(&ruled.ruling.class)) } @if !ruled.ruling.counts { span.soft { " does not count" } } }
}

/// The reason and the source of a ruling.
pub(super) fn why(ruled: &RuledItem) -> Markup {
    let ruling = &ruled.ruling;
    html! {
        p { @if !ruled.judge.is_empty() { b { (name(&ruled.judge)) } ": " } (name(&ruling.reason)) }
        @if !ruling.source.is_empty() { p.soft { "from " (name(&ruling.source)) } }
    }
}

/// Classes, checks, and judges that did not finish.
pub(super) fn verdict(verdict: &PluginVerdict) -> Markup {
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
                td { span class={ "status " (colour(outcome(check.outcome))) } { (outcome(check.outcome)) } }
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

fn outcome(outcome: CheckOutcome) -> &'static str {
    outcome.as_str()
}
