//! The part of one plugin: what failed first, then what was slow, then the rest.

use std::collections::BTreeMap;
use std::io::{self, Write};

use maud::{Markup, html};
use plumbline_core::judgement::{PluginVerdict, RuledItem};
use plumbline_core::text::printable;
use plumbline_core::{Item, Status};
use serde_json::Value;

use super::rulings::{self, Rulings};
use super::summary::{Row, colour, status};
use crate::output::duration::{seconds_of, short_seconds};
use crate::output::markdown::reason;
use crate::output::text::name;

/// Failed leaves that are shown with their texts. A browser is slow with more, and nobody reads them.
const MAX_FAILURES: usize = 2_000;

/// Characters of one text of a failed leaf: its beginning; the archive has all.
const MAX_TEXT: usize = 32 << 10;

/// Texts of one failed leaf.
const MAX_DETAILS: usize = 20;

/// The slowest leaves.
const MAX_SLOWEST: usize = 20;

/// Names of leaves of one status that did not fail.
const MAX_NAMES: usize = 20_000;

/// A leaf, and the way to it.
struct Leaf<'a> {
    item: &'a Item,
    place: String,
    ruled: Option<&'a RuledItem>,
}

impl Leaf<'_> {
    fn counts(&self) -> bool {
        self.ruled.map_or(self.failed(), |ruled| ruled.ruling.counts)
    }

    fn failed(&self) -> bool {
        matches!(self.item.status, Status::Failed | Status::Timeout)
    }
}

/// Writes the part of the plugin whose number is `at`.
pub(super) fn section(
    at: usize,
    row: &Row,
    root: &Item,
    verdict: Option<&PluginVerdict>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut put = |markup: Markup| out.write_all(markup.into_string().as_bytes());
    let rulings = Rulings::new(verdict);
    let leaves = leaves(root, &rulings);
    let (mut bad, rest): (Vec<&Leaf<'_>>, Vec<&Leaf<'_>>) =
        leaves.iter().partition(|leaf| leaf.failed() || leaf.counts());
    // What counts comes first; otherwise the order is that of the tree.
    bad.sort_by_key(|leaf| !leaf.counts());
    put(html! {
        (maud::PreEscaped(format!("<section id=\"p{at}\" aria-labelledby=\"p{at}-title\">\n")))
        h2 id={ "p" (at) "-title" } { (name(&row.plugin)) " " (status(&row.status.brief())) }
        p.soft { (leaves.len()) " items: " (row.passed) " passed, " (row.failed) " failed, " (row.skipped) " skipped"
            @if row.other > 0 { ", " (row.other) " other" } }
        @if let Some(text) = root.meta.get("error").or_else(|| root.meta.get("reason")) { p { (name(text)) } }
        @if let Some(verdict) = verdict { (rulings::verdict(verdict)) }
        "\n"
    })?;
    if !bad.is_empty() {
        put(html! { h3 { "Failures (" (bad.len()) ")" } "\n" })?;
        for leaf in bad.iter().take(MAX_FAILURES) {
            put(failure(leaf))?;
        }
        if bad.len() > MAX_FAILURES {
            put(
                html! { p.soft { "and " (bad.len() - MAX_FAILURES) " more: " code { "plumbline results -o json" } " has all" } "\n" },
            )?;
        }
    }
    slowest(&leaves, &mut put)?;
    others(&rest, &mut put)?;
    put(html! { (maud::PreEscaped("</section>\n")) })
}

fn leaves<'a>(root: &'a Item, rulings: &Rulings<'a>) -> Vec<Leaf<'a>> {
    let mut found = Vec::new();
    let mut leaves = root.leaves();
    while let Some(item) = leaves.next() {
        let path = leaves.walk().path();
        let above = path.get(1..path.len().saturating_sub(1)).unwrap_or_default();
        found.push(Leaf { item, place: above.join(" › "), ruled: rulings.of(&path) });
    }
    found
}

fn failure(leaf: &Leaf<'_>) -> Markup {
    let item = leaf.item;
    html! {
        details {
            summary {
                (status(item.status.as_str())) " " b { (name(&item.name)) }
                @if let Some(seconds) = seconds_of(item) { span.soft { " " (short_seconds(seconds)) } }
                @if let Some(ruled) = leaf.ruled { " " (rulings::class(ruled)) }
                @if let Some(reason) = reason(item) { br; span.soft { (reason) } }
            }
            @if let Some(ruled) = leaf.ruled { (rulings::why(ruled)) }
            @if !leaf.place.is_empty() { p.soft { "in " (name(&leaf.place)) } }
            @if let Some(file) = item.meta.get("file") { p.soft { "file " (name(file)) } }
            @if let Some(error) = item.meta.get("error") { pre { (block(error)) } }
            @for (key, value) in item.details.iter().take(MAX_DETAILS) {
                p.soft { (name(key)) }
                pre { (block(&text(value))) }
            }
            @if item.details.len() > MAX_DETAILS { p.soft { "and " (item.details.len() - MAX_DETAILS) " more details" } }
        }
        "\n"
    }
}

fn slowest(leaves: &[Leaf<'_>], put: &mut impl FnMut(Markup) -> io::Result<()>) -> io::Result<()> {
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
                td { (name(&leaf.item.name)) }
            } } }
        } }
        "\n"
    })
}

/// What did not fail, by status.
fn others(rest: &[&Leaf<'_>], put: &mut impl FnMut(Markup) -> io::Result<()>) -> io::Result<()> {
    let mut by_status: BTreeMap<&str, Vec<&Leaf<'_>>> = BTreeMap::new();
    for leaf in rest {
        by_status.entry(leaf.item.status.as_str()).or_default().push(leaf);
    }
    if by_status.is_empty() {
        return Ok(());
    }
    put(html! { h3 { "Other items" } "\n" })?;
    for (word, leaves) in by_status {
        // Written piece by piece: thousands of names are no reason to hold them twice.
        put(
            html! { (maud::PreEscaped("<details><summary>")) span class=(colour(word)) { (leaves.len()) " " (name(word)) } (maud::PreEscaped("</summary><ul>\n")) },
        )?;
        for leaf in leaves.iter().take(MAX_NAMES) {
            let why = (leaf.item.status == Status::Unknown).then(|| leaf.item.meta.get("error")).flatten();
            put(html! {
                li {
                    (name(&leaf.item.name))
                    @if let Some(seconds) = seconds_of(leaf.item) { span.soft { " " (short_seconds(seconds)) } }
                    @if let Some(ruled) = leaf.ruled { " " (rulings::class(ruled)) }
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

/// Several lines, without what would steer a terminal that the page is copied to, cut to a length that a browser bears.
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
