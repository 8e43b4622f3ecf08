//! The failures by cause, as the page shows them without a script.

use std::collections::HashMap;
use std::io::{self, Write};

use maud::{Markup, html};
use plumbline_core::Digest;
use serde::Serialize;

use crate::report::failures::nodes;
use crate::report::html::cluster::PageRelation;
use crate::report::html::failed::{FailedLeaf, Test, Texts};
use crate::report::html::summary::status;
use crate::report::text::{name, short_seconds};

/// The most causes that are listed. The table has all failures.
const MAX_CAUSES: usize = 200;

/// The most tests of a cause that are listed.
const MAX_TESTS: usize = 10;

/// The most nodes whose names are given to the function that makes a sentence of them.
const MAX_NODES: usize = 20;

/// The most cluster events of a test.
const MAX_RELATED: usize = 3;

/// A test and those of its failures that have one cause.
struct Group<'a> {
    test: &'a Test,
    leaves: Vec<&'a FailedLeaf>,
}

/// Writes the failures: the causes that count first, and of these the most frequent first. `all` is
/// the number of failures, of which some may be too many to be grouped.
pub(super) fn write(
    tests: &[Test],
    causes: &[PageCause],
    relations: &[PageRelation],
    all: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    let groups = groups_of(tests, causes);
    let mut order: Vec<(&PageCause, &Vec<Group<'_>>)> = causes.iter().zip(&groups).collect();
    order.sort_by_key(|(cause, groups)| (!counts(groups), std::cmp::Reverse(cause.count)));
    let mut put = |markup: Markup| out.write_all(markup.into_string().as_bytes());
    let grouped: usize = causes.iter().map(|cause| cause.count).sum();
    let more = all.saturating_sub(grouped as u64);
    put(html! { (maud::PreEscaped("<section id=\"failures\" aria-labelledby=\"failures-title\">\n")) })?;
    put(html! { h2 id="failures-title" {
        @match grouped { 0 => "No failures", 1 => "1 failure", n => { (n) " failures, " (causes.len()) @if causes.len() == 1 { " cause" } @else { " causes" } } }
    } "\n" })?;
    for (at, (cause, groups)) in order.iter().take(MAX_CAUSES).enumerate() {
        put(markup(cause, groups, relations, at == 0))?;
    }
    if order.len() > MAX_CAUSES {
        put(html! { p.soft { "and " (order.len() - MAX_CAUSES) " more causes: the table has all failures" } "\n" })?;
    }
    if more > 0 {
        put(html! { p.soft { "and " (more) " more failures, which are not grouped: see the table" } "\n" })?;
    }
    put(html! { (maud::PreEscaped("</section>\n")) })
}

fn counts(groups: &[Group<'_>]) -> bool {
    groups.iter().flat_map(|group| &group.leaves).any(|leaf| leaf.counts)
}

/// The tests of each cause, in the order of the causes.
fn groups_of<'a>(tests: &'a [Test], causes: &[PageCause]) -> Vec<Vec<Group<'a>>> {
    let cause_of: HashMap<u32, usize> =
        causes.iter().enumerate().flat_map(|(at, cause)| cause.items.iter().map(move |item| (*item, at))).collect();
    let mut groups: Vec<Vec<Group<'a>>> = causes.iter().map(|_| Vec::new()).collect();
    for test in tests {
        for leaf in &test.failed.leaves {
            let Some(of_cause) = cause_of.get(&leaf.item).and_then(|at| groups.get_mut(*at)) else { continue };
            match of_cause.last_mut().filter(|group| std::ptr::eq(group.test, test)) {
                Some(group) => group.leaves.push(leaf),
                None => of_cause.push(Group { test, leaves: vec![leaf] }),
            }
        }
    }
    groups
}

fn markup(cause: &PageCause, groups: &[Group<'_>], relations: &[PageRelation], is_open: bool) -> Markup {
    html! {
        details.cause open[is_open] id={ "cause-" (cause.id) } {
            summary {
                span.count { (cause.count) " ×" } " " b { (name(&cause.template)) }
                @if !counts(groups) { " " span.class { "excused" } }
                @if groups.len() > 1 { span.soft { " " (groups.len()) " tests" } }
            }
            @for group in groups.iter().take(MAX_TESTS) { (test(group, relations)) }
            @if groups.len() > MAX_TESTS { p.soft { "and " (groups.len() - MAX_TESTS) " more tests" } }
            p { a href={ "#cause=" (cause.id) } {
                @if cause.count == 1 { "Show it in the table" } @else { "Show all " (cause.count) " in the table" }
            } }
        }
        "\n"
    }
}

fn test(group: &Group<'_>, relations: &[PageRelation]) -> Markup {
    let Group { test, leaves } = group;
    let names: Vec<String> =
        leaves.iter().filter_map(|leaf| leaf.node.as_deref()).take(MAX_NODES).map(str::to_owned).collect();
    let on = leaves.iter().filter(|leaf| leaf.node.is_some()).count() as u64;
    // The texts are those of the first leaf.
    let is_first = test.failed.leaves.first().map(|leaf| leaf.item) == leaves.first().map(|leaf| leaf.item);
    html! {
        details.test {
            summary {
                (status(test.failed.status.as_str())) " " b { (test.label) } (nodes(&names, on, test.nodes))
                @if let Some(seconds) = test.failed.seconds { span.soft { " " (short_seconds(seconds)) } }
                @if let Some(ruled) = &test.failed.ruled {
                    " " span class={ "class " (if ruled.ruling.counts { "failed" } else { "passed" }) } { (name(&ruled.ruling.class)) }
                    @if !ruled.ruling.counts { span.soft { " does not count" } }
                }
                span.soft { " " (test.plugin) }
            }
            @for sentence in related(leaves, relations) { p.cluster { (sentence) } }
            @if let Some(leaf) = leaves.first() { p { a href={ "#item-" (leaf.item) } { "Open" } } }
            @if let Some(ruled) = &test.failed.ruled {
                p { @if !ruled.judge.is_empty() { b { (name(&ruled.judge)) } ": " } (name(&ruled.ruling.reason)) }
                @if !ruled.ruling.source.is_empty() { p.soft { "from " (name(&ruled.ruling.source)) } }
            }
            @if let Some(sample) = test.failed.sample.as_ref().filter(|_| is_first) { (texts(sample)) }
        }
        "\n"
    }
}

/// The sentences on what happened in the cluster at the place and time of these failures.
fn related<'a>(leaves: &[&FailedLeaf], relations: &'a [PageRelation]) -> Vec<&'a str> {
    let mut numbers: Vec<u32> = Vec::new();
    for number in leaves.iter().flat_map(|leaf| &leaf.related) {
        if numbers.len() < MAX_RELATED && !numbers.contains(number) {
            numbers.push(*number);
        }
    }
    let sentence = |number: u32| Some(relations.get(usize::try_from(number).ok()?)?.sentence.as_str());
    numbers.into_iter().filter_map(sentence).collect()
}

fn texts(texts: &Texts) -> Markup {
    html! {
        @for (title, parts) in &texts.texts {
            @if !title.is_empty() { p.soft { (title) } }
            pre tabindex="0" { @for (style, text) in parts {
                @if style.is_empty() { (text) } @else { span class=(style) { (text) } }
            } }
        }
        @if texts.more > 0 { p.soft { "and " (texts.more) " more details" } }
    }
}

/// The template of failures without a message.
const NO_MESSAGE: &str = "(no message)";

/// The failures on the page with the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PageCause {
    /// The ID, which depends only on the template.
    pub(super) id: String,
    /// What the messages of the failures have in common.
    pub(super) template: String,
    /// The number of failures.
    pub(super) count: usize,
    /// The numbers of the failed items.
    pub(super) items: Vec<u32>,
}

/// Groups failures by cause, or without one by the line that explains them. Causes are in the order
/// of their first failures.
pub(super) fn causes_of(tests: &[Test]) -> Vec<PageCause> {
    let mut causes: Vec<PageCause> = Vec::new();
    let mut known: HashMap<(bool, &str), usize> = HashMap::new();
    for leaf in tests.iter().flat_map(|test| &test.failed.leaves) {
        let template = template(leaf);
        let key = leaf.cause.as_ref().map_or((false, template), |cause| (true, cause.id.as_str()));
        let at = *known.entry(key).or_insert(causes.len());
        match causes.get_mut(at) {
            Some(cause) => {
                cause.count += 1;
                cause.items.push(leaf.item);
            }
            None => {
                causes.push(PageCause { id: id(leaf), template: template.to_owned(), count: 1, items: vec![leaf.item] })
            }
        }
    }
    causes
}

fn template(leaf: &FailedLeaf) -> &str {
    match &leaf.cause {
        Some(cause) => &cause.template,
        None => leaf.reason.as_deref().unwrap_or(NO_MESSAGE),
    }
}

fn id(leaf: &FailedLeaf) -> String {
    match &leaf.cause {
        Some(cause) => cause.id.clone(),
        None => Digest::of(template(leaf).as_bytes()).hex().chars().take(12).collect(),
    }
}
