//! The durations that changed since an earlier run, with links to the items, and the slowest tests.

use maud::{Markup, html};
use plumbline_core::{Status, TestId};

use crate::difference::{Change, Difference, Previous, TestKey, TestNames, total_durations};
use crate::report::html::summary::status;
use crate::report::text::{name, short_seconds};

/// The most tests in a table.
const MAX_LISTED: usize = 50;

/// The tests that became much slower or faster.
pub(super) struct Durations {
    previous: Previous,
    slower: Vec<ChangedItem>,
    faster: Vec<ChangedItem>,
}

/// A test whose duration changed, and the number of its row.
struct ChangedItem {
    change: Change,
    item: Option<u32>,
}

impl Durations {
    pub(super) fn of(previous: Previous) -> Self {
        let listed = |changes: &[Change]| {
            changes.iter().take(MAX_LISTED).map(|change| ChangedItem { change: change.clone(), item: None }).collect()
        };
        let Difference { slower, faster, .. } = &previous.difference;
        Self { slower: listed(slower), faster: listed(faster), previous }
    }

    /// Adds an item of the page, to which its test is linked. Of several items of one test, the test
    /// is linked to the first.
    pub(super) fn add_item(&mut self, plugin: &str, id: &TestId, item: u32) {
        let names = TestNames::from(&TestKey::of(plugin, id.clone()));
        let is_same = |test: &TestNames| {
            // The comparison ignores classes that one of the runs does not have.
            let same_class = test.classname.is_empty() || test.classname == names.classname;
            same_class && test.name == names.name && test.place == names.place && test.plugin == names.plugin
        };
        for changed in self.slower.iter_mut().chain(&mut self.faster) {
            if changed.item.is_none() && is_same(&changed.change.test) {
                changed.item = Some(item);
            }
        }
    }

    pub(super) fn markup(&self) -> Markup {
        let Difference { slower, faster, .. } = &self.previous.difference;
        html! {
            section aria-labelledby="durations" {
                h2 id="durations" { "Durations against the previous run" }
                p { "The previous run is in " code { (name(&self.previous.archive)) } ". " (total_durations(&self.previous.difference)) }
                @if slower.is_empty() && faster.is_empty() { p.soft { "No test became much slower or faster." } }
                (table("Much slower", &self.slower, slower.len()))
                (table("Much faster", &self.faster, faster.len()))
            }
            "\n"
        }
    }
}

/// The table of the listed tests, of `all` tests.
fn table(title: &str, listed: &[ChangedItem], all: usize) -> Markup {
    let seconds = |seconds: Option<f64>| short_seconds(seconds.unwrap_or_default());
    html! {
        @if !listed.is_empty() {
            h3 { (title) ": " (all) }
            div.scroll tabindex="0" role="region" aria-label={ "Table of tests: " (title) } { table {
                thead { tr { th.n scope="col" { "took" } th.n scope="col" { "previously" } th scope="col" { "status" } th scope="col" { "name" } } }
                tbody { @for changed in listed { tr {
                    td.n { (seconds(changed.change.seconds_after)) }
                    td.n { (seconds(changed.change.seconds_before)) }
                    td { @if let Some(after) = &changed.change.after { (status(after.as_str())) } }
                    td.long { @match changed.item {
                        Some(item) => { a href={ "#item-" (item) } { (changed.change.test.label()) } },
                        None => { (changed.change.test.label()) },
                    } }
                } } }
            } }
            @if all > listed.len() { p.soft { "and " (all - listed.len()) " more" } }
        }
    }
}

/// A slow leaf.
pub(super) struct SlowItem {
    /// The number of its row.
    number: u32,
    label: String,
    plugin: String,
    status: Status,
}

impl SlowItem {
    pub(super) fn new(number: u32, id: &TestId, status: &Status, plugin: &str) -> Self {
        let node = id.node.as_ref().map(|node| format!(" on {}", name(node))).unwrap_or_default();
        Self { number, label: name(&id.name) + &node, plugin: plugin.to_owned(), status: status.clone() }
    }
}

/// The table of the slowest leaves.
pub(super) fn slowest(leaves: &[(f64, SlowItem)]) -> Markup {
    html! {
        section id="slowest" aria-labelledby="slowest-title" {
            h2 id="slowest-title" { "Slowest" }
            @if leaves.is_empty() { p.soft { "No item has a duration." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Table of the slowest items" { table {
                    thead { tr { th.n scope="col" { "took" } th scope="col" { "status" } th scope="col" { "name" } th scope="col" { "plugin" } } }
                    tbody { @for (seconds, slow) in leaves { tr {
                        td.n { (short_seconds(*seconds)) }
                        td { (status(slow.status.as_str())) }
                        td.long { a href={ "#item-" (slow.number) } { (slow.label) } }
                        td { (slow.plugin) }
                    } } }
                } }
            }
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_test_is_linked_to_its_first_item() {
        let id = |node: &str, class: &str, name: &str| TestId {
            node: Some(node.to_owned()),
            classname: class.into(),
            name: name.into(),
            ..TestId::default()
        };
        let change = |node: &str, class: &str| Change {
            test: TestNames::from(&TestKey::of("p", id(node, class, "t"))),
            before: None,
            after: None,
            seconds_before: Some(1.0),
            seconds_after: Some(60.0),
            reason: None,
        };
        let difference = Difference {
            slower: vec![change("n1", "c"), change("n2", "")],
            faster: vec![change("n3", "c")],
            ..Difference::default()
        };
        let mut durations = Durations::of(Previous { archive: "before.tar.gz".into(), difference });
        // The prefix of Ginkgo is not a part of the name.
        for (number, test) in (0..).zip([
            id("n1", "c", "other"),
            id("n1", "d", "t"),
            id("n1", "c", "[It] t"),
            id("n2", "x", "t"),
            id("n1", "c", "t"),
        ]) {
            durations.add_item("p", &test, number);
        }
        let items: Vec<Option<u32>> = durations.slower.iter().chain(&durations.faster).map(|one| one.item).collect();
        assert_eq!(items, [Some(2), Some(3), None]);
        let page = durations.markup().into_string();
        assert!(page.contains(r##"<td class="n">1 min 0 s</td><td class="n">1.0 s</td>"##), "{page}");
        assert!(page.contains(r##"<a href="#item-2">p n1 t (c)</a>"##), "{page}");
    }
}
