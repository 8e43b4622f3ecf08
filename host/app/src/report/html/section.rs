//! The section of a plugin: failures first, then slow items, then the others.

use std::collections::BTreeMap;
use std::io::{self, Write};

use maud::{Markup, html};
use plumbline_core::failures::message_and_body;
use plumbline_core::judgement::{PluginVerdict, RuledItem};
use plumbline_core::text::printable;
use plumbline_core::{FailedTest, FailedTests, Item, Status, TestId};
use serde_json::Value;

use crate::report::failures::{Suites, TreeFailures, reason_of};
use crate::report::html::parts::{Row, class, colour, status, verdict_markup, why};
use crate::report::text::{name, seconds_of, short_seconds};
use crate::report::verdict::Rulings;

/// The most failed tests that are shown with their details. More make browsers slow.
const MAX_FAILURES: usize = 2_000;

/// The most nodes with details of one failed test.
const MAX_NODES: usize = 20;

/// The most characters of a detail.
const MAX_TEXT: usize = 32 << 10;

/// The most details of a failed leaf.
const MAX_DETAILS: usize = 20;

/// The most slow leaves in the table.
const MAX_SLOWEST: usize = 20;

/// The most names of leaves of one status.
const MAX_NAMES: usize = 20_000;

struct Leaf<'a> {
    item: &'a Item,
    id: TestId,
    place: String,
    ruled: Option<&'a RuledItem>,
}

type Failed<'a> = FailedTest<Vec<&'a Leaf<'a>>>;

impl Leaf<'_> {
    fn counts(&self) -> bool {
        self.ruled.map_or(self.failed(), |ruled| ruled.ruling.counts)
    }

    fn failed(&self) -> bool {
        matches!(self.item.status, Status::Failed | Status::Timeout)
    }
}

pub(super) fn section(
    at: usize,
    row: &Row,
    root: &Item,
    verdict: Option<&PluginVerdict>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut put = |markup: Markup| out.write_all(markup.into_string().as_bytes());
    let leaves = leaves(root, Rulings::new(verdict));
    let labels = TreeFailures::of(root);
    let (mut bad, rest): (Vec<&Leaf<'_>>, Vec<&Leaf<'_>>) =
        leaves.iter().partition(|leaf| leaf.failed() || leaf.counts());
    // Failures that count are first, in the order of the tree.
    bad.sort_by_key(|leaf| !leaf.counts());
    put(html! {
        (maud::PreEscaped(format!("<section id=\"p{at}\" aria-labelledby=\"p{at}-title\">\n")))
        h2 id={ "p" (at) "-title" } { (name(&row.plugin)) " " (status(&row.status.brief())) }
        p.soft { (leaves.len()) " items: " (row.passed) " passed, " (row.failed) " failed, " (row.skipped) " skipped"
            @if row.other > 0 { ", " (row.other) " other" } }
        @if let Some(text) = root.meta.get("error").or_else(|| root.meta.get("reason")) { p { (name(text)) } }
        @if let Some(verdict) = verdict { (verdict_markup(verdict)) }
        "\n"
    })?;
    if !bad.is_empty() {
        put(html! { h3 { "Failures (" (bad.len()) ")" } "\n" })?;
        let mut shown = 0;
        for test in grouped(&bad) {
            put(failure(&test, &labels))?;
            shown += test.data.len();
        }
        if bad.len() > shown {
            put(
                html! { p.soft { "and " (bad.len() - shown) " more: " code { "plumbline results -o json" } " has all" } "\n" },
            )?;
        }
    }
    slowest(&leaves, &labels, &mut put)?;
    others(&rest, &labels, &mut put)?;
    put(html! { (maud::PreEscaped("</section>\n")) })
}

fn leaves<'a>(root: &'a Item, mut rulings: Rulings<'a>) -> Vec<Leaf<'a>> {
    let mut found = Vec::new();
    let mut leaves = root.leaves();
    while let Some(item) = leaves.next() {
        let path = leaves.walk().path();
        let above = path.get(1..path.len().saturating_sub(1)).unwrap_or_default();
        let id = TestId::of(leaves.walk().ancestors(), item);
        found.push(Leaf {
            item,
            id,
            place: above.join(" › "),
            ruled: rulings.next(path.iter().skip(1).copied(), &item.status),
        });
    }
    found
}

/// Groups leaves by test. A test with different rulings on different nodes is in several groups.
fn grouped<'a>(leaves: &[&'a Leaf<'a>]) -> Vec<Failed<'a>> {
    let mut tests = FailedTests::<Vec<&Leaf<'_>>>::new(MAX_FAILURES);
    for &leaf in leaves {
        let mut id = leaf.id.clone();
        id.suites.extend(leaf.ruled.map(|ruled| ruled.ruling.class.clone()));
        if let Some(test) = tests.entry(id) {
            test.data.push(leaf);
        }
    }
    tests.into_tests()
}

fn failure(test: &Failed<'_>, labels: &TreeFailures<'_>) -> Markup {
    let Some(first) = test.data.first() else { return html! {} };
    let items: Vec<&Item> = test.data.iter().map(|leaf| leaf.item).collect();
    let seconds = items.iter().filter_map(|item| seconds_of(item)).max_by(f64::total_cmp);
    html! {
        details {
            summary {
                (status(first.item.status.as_str())) " " b { (name(&labels.label(&first.id, Suites::IfSeveral))) } (name(&labels.nodes(test)))
                @if let Some(seconds) = seconds { span.soft { " " (short_seconds(seconds)) } }
                @if let Some(ruled) = first.ruled { " " (class(ruled)) }
                @if let Some(reason) = reason_of(&items) { br; span.soft { (reason) } }
            }
            @for leaf in test.data.iter().take(MAX_NODES) { (texts(leaf)) }
            @if test.data.len() > MAX_NODES { p.soft { "and " (test.data.len() - MAX_NODES) " more nodes" } }
        }
        "\n"
    }
}

fn texts(leaf: &Leaf<'_>) -> Markup {
    let item = leaf.item;
    let is_message = |key: &str| key.strip_suffix("-message").is_some_and(|key| item.details.contains_key(key));
    html! {
        @if let Some(ruled) = leaf.ruled { (why(ruled)) }
        @if !leaf.place.is_empty() { p.soft { "in " (name(&leaf.place)) } }
        @if !leaf.id.classname.is_empty() { p.soft { "class " (name(&leaf.id.classname)) } }
        @if let Some(file) = item.meta.get("file") { p.soft { "file " (name(file)) } }
        @if let Some(error) = item.meta.get("error") { pre { (block(error)) } }
        @for (key, value) in item.details.iter().filter(|(key, _)| !is_message(key)).take(MAX_DETAILS) {
            p.soft { (name(key)) }
            @if let (Some(message), Some(body)) = message_and_body(key, &item.details) {
                pre { (block(message)) }
                pre { (block(body)) }
            } @else {
                pre { (block(&text(value))) }
            }
        }
        @if item.details.len() > MAX_DETAILS { p.soft { "and " (item.details.len() - MAX_DETAILS) " more details" } }
    }
}

fn label(leaf: &Leaf<'_>, labels: &TreeFailures<'_>) -> String {
    let label = labels.label(&leaf.id, Suites::IfSeveral);
    name(&leaf.id.node.as_ref().map(|node| format!("{label} on {node}")).unwrap_or(label))
}

fn slowest(
    leaves: &[Leaf<'_>],
    labels: &TreeFailures<'_>,
    put: &mut impl FnMut(Markup) -> io::Result<()>,
) -> io::Result<()> {
    let mut slow: Vec<(f64, &Leaf<'_>)> = leaves
        .iter()
        .filter_map(|leaf| Some((seconds_of(leaf.item)?, leaf)))
        .filter(|(seconds, _)| *seconds > 0.0)
        .collect();
    if slow.is_empty() {
        return Ok(());
    }
    slow.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    slow.truncate(MAX_SLOWEST);
    put(html! {
        h3 { "Slowest" }
        div.scroll { table {
            thead { tr { th.n scope="col" { "took" } th scope="col" { "status" } th scope="col" { "name" } } }
            tbody { @for (seconds, leaf) in &slow { tr {
                td.n { (short_seconds(*seconds)) }
                td { (status(leaf.item.status.as_str())) }
                td { (label(leaf, labels)) }
            } } }
        } }
        "\n"
    })
}

fn others(
    rest: &[&Leaf<'_>],
    labels: &TreeFailures<'_>,
    put: &mut impl FnMut(Markup) -> io::Result<()>,
) -> io::Result<()> {
    let mut by_status: BTreeMap<&str, Vec<&Leaf<'_>>> = BTreeMap::new();
    for leaf in rest {
        by_status.entry(leaf.item.status.as_str()).or_default().push(leaf);
    }
    if by_status.is_empty() {
        return Ok(());
    }
    put(html! { h3 { "Other items" } "\n" })?;
    for (word, leaves) in by_status {
        // Written name by name, so that thousands of names are not in memory twice.
        put(
            html! { (maud::PreEscaped("<details><summary>")) span class=(colour(word)) { (leaves.len()) " " (name(word)) } (maud::PreEscaped("</summary><ul>\n")) },
        )?;
        for leaf in leaves.iter().take(MAX_NAMES) {
            let why = (leaf.item.status == Status::Unknown).then(|| leaf.item.meta.get("error")).flatten();
            put(html! {
                li {
                    (label(leaf, labels))
                    @if let Some(seconds) = seconds_of(leaf.item) { span.soft { " " (short_seconds(seconds)) } }
                    @if let Some(ruled) = leaf.ruled { " " (class(ruled)) }
                    @if let Some(why) = why { span.soft { ": " (name(why)) } }
                }
                "\n"
            })?;
        }
        if leaves.len() > MAX_NAMES {
            put(html! { li.soft { "and " (leaves.len() - MAX_NAMES) " more" } "\n" })?;
        }
        put(html! { (maud::PreEscaped("</ul></details>\n")) })?;
    }
    Ok(())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A text of several lines, without control characters, shortened so that browsers can show it.
fn block(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String =
        characters.by_ref().take(MAX_TEXT).map(|c| if c == '\n' { c } else { printable(c) }).collect();
    let left = characters.count();
    if left > 0 {
        out.push_str(&format!("\n… and {left} more characters: the archive has all"));
    }
    out
}
