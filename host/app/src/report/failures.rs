//! Failed tests as text: their names, the nodes on which they failed, and the reasons.

use std::collections::HashMap;
use std::io::{self, Write};

use plumbline_aggregator::Failure;
use plumbline_core::failures::nodes_in;
use plumbline_core::rollup::is_failure;
use plumbline_core::{FailedTest, FailedTests, Item, TestId};

use crate::report::text::{name, one_line, shortened};

/// The prefix that Ginkgo puts before the name of a test.
pub(super) const PREFIX: &str = "[It]";

/// The most characters of a reason and of a name on the same line.
const MAX_NAME: usize = 72;

/// The failed tests of a plugin that a list has.
const MAX_LISTED: usize = 10;

/// The nodes that a line names. Of more, it names the first ones and the number of the others.
const MAX_NODES: usize = 3;

/// The failed tests that are distinguished. Failures of further ones are only counted.
const MAX_TESTS: usize = 10_000;

/// The failures of a tree, grouped by test.
#[derive(Default)]
pub struct TreeFailures<'a> {
    /// The tests, in the order of the tree, with their leaves.
    pub tests: Vec<FailedTest<Vec<&'a Item>>>,
    /// The number of leaves that failed.
    pub leaves: usize,
    /// The number of nodes with results.
    nodes: u64,
    /// Whether tests of a name are in several places of the tree.
    places: HashMap<&'a str, Occurrences>,
    several_places: bool,
}

#[derive(Default)]
struct Occurrences {
    first: String,
    several: bool,
}

/// When a label has the suite of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suites {
    /// If tests of the same name are in several suites.
    IfAmbiguous,
    /// If the plugin has several suites.
    IfSeveral,
}

impl<'a> TreeFailures<'a> {
    /// Finds the failed tests of the tree below `root`.
    pub fn of(root: &'a Item) -> Self {
        let mut tests = FailedTests::<Vec<&Item>>::new(MAX_TESTS);
        let mut found = Self { nodes: nodes_in(root), ..Self::default() };
        let mut first_place: Option<String> = None;
        let mut leaves = root.leaves();
        while let Some(leaf) = leaves.next() {
            let id = TestId::of(leaves.walk().ancestors(), leaf);
            let place = id.place();
            if !place.is_empty() {
                found.several_places |= *first_place.get_or_insert_with(|| place.clone()) != place;
            }
            if is_failure(&leaf.status) {
                found.leaves += 1;
                if let Some(test) = tests.entry(id) {
                    test.data.push(leaf);
                }
            }
            match found.places.get_mut(leaf.name.as_str()) {
                Some(places) => places.several |= places.first != place,
                None => drop(found.places.insert(&leaf.name, Occurrences { first: place, several: false })),
            }
        }
        found.tests = tests.into_tests();
        found
    }

    /// The name of the test, with suite and class if they are needed to identify it.
    pub fn label(&self, id: &TestId, suites: Suites) -> String {
        let shown = match suites {
            Suites::IfSeveral => self.several_places,
            Suites::IfAmbiguous => self.places.get(id.name.as_str()).is_some_and(|places| places.several),
        };
        label(&id.name, if shown { id.place() } else { String::new() }, &id.classname)
    }

    /// The test on one line, without the prefix of Ginkgo.
    pub(super) fn line<T>(&self, test: &FailedTest<T>) -> String {
        let label = self.label(&test.id, Suites::IfAmbiguous) + &self.nodes(test);
        label.strip_prefix(PREFIX).map_or(&*label, str::trim_start).to_owned()
    }

    /// The nodes on which the test failed, as the end of a sentence.
    pub fn nodes<T>(&self, test: &FailedTest<T>) -> String {
        nodes(&test.nodes, test.failed_nodes, self.nodes)
    }
}

pub(super) fn label(name: &str, place: String, classname: &str) -> String {
    let parts: Vec<&str> = [place.as_str(), classname].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { name.to_owned() } else { format!("{name} ({})", parts.join(" › ")) }
}

/// ` on worker-1`, or `: failed on 12 of 50 nodes: worker-1, worker-2, … 10 more`. `all` is the
/// number of nodes, or 0 if it is not known.
pub(super) fn nodes(names: &[String], failed: u64, all: u64) -> String {
    let shown = match (names, failed) {
        (_, 0) => return String::new(),
        ([only], 1) => return format!(" on {only}"),
        (names, _) if failed <= MAX_NODES as u64 && names.len() as u64 == failed => names.join(", "),
        (names, _) => {
            let first: Vec<&str> = names.iter().take(MAX_NODES - 1).map(String::as_str).collect();
            format!("{}, … {} more", first.join(", "), failed.saturating_sub(first.len() as u64))
        }
    };
    let of = if all > failed { format!("{failed} of {all} nodes") } else { format!("{failed} nodes") };
    let all = if all == failed { "all " } else { "" };
    format!(": failed on {all}{of}: {shown}")
}

/// The reason why the first of `leaves` failed, and whether others have another reason.
pub fn reason_of(leaves: &[&Item]) -> Option<String> {
    let reason = |leaf: &Item| plumbline_core::reason(&leaf.name, &leaf.details, &leaf.meta);
    let first = reason(leaves.first()?);
    let differ = leaves.iter().skip(1).any(|leaf| reason(leaf) != first);
    first.map(|reason| with_others(&one_line(&reason), differ))
}

fn with_others(reason: &str, differ: bool) -> String {
    if differ { format!("{reason} (other nodes: other reasons)") } else { reason.to_owned() }
}

/// Lists the first of `failures`, indented by `indent` columns, and the number of the others of
/// `all`.
pub fn list_failures(failures: &[Failure], all: u64, indent: usize, out: &mut impl Write) -> io::Result<()> {
    let shown: Vec<(String, Option<(&String, bool)>)> = failures
        .iter()
        .take(MAX_LISTED)
        .map(|failure| {
            let label = label(&failure.name, failure.place.clone(), &failure.classname);
            let nodes = nodes(&failure.nodes, failure.failed_nodes, failure.all_nodes);
            (one_line(&label) + &name(&nodes), failure.reason.as_ref().map(|reason| (reason, failure.reasons_differ)))
        })
        .collect();
    let names = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, reason) in &shown {
        match reason {
            Some((reason, differ)) if names <= MAX_NAME => {
                writeln!(out, "{:indent$}{name:names$}   {}", "", with_others(&shortened(reason, MAX_NAME), *differ))?;
            }
            // Long names often differ only at their ends.
            Some((reason, differ)) => {
                writeln!(out, "{:indent$}{name}\n{:indent$}    {}", "", "", with_others(&one_line(reason), *differ))?;
            }
            None => writeln!(out, "{:indent$}{name}", "")?,
        }
    }
    let listed: u64 = failures.iter().take(MAX_LISTED).map(Failure::leaves).sum();
    let hidden = all.saturating_sub(listed);
    if hidden > 0 {
        writeln!(out, "{:indent$}and {hidden} more", "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::written;

    #[test]
    fn long_names_are_whole_and_their_reasons_below_them() {
        let failure = |name: &str, reason: Option<&str>| Failure {
            name: name.into(),
            reason: reason.map(Into::into),
            ..Failure::default()
        };
        let long = format!("[sig-storage] Secrets should be {} in a pod", "consumable ".repeat(6));
        let failures = [failure("short", Some("no")), failure(&long, Some("why")), failure("x", None)];
        let want = format!("  short\n      no\n  {long}\n      why\n  x\n  and 2 more\n");
        assert_eq!(written(|out| list_failures(&failures, 5, 2, out)), want);
    }

    #[test]
    fn a_reason_on_its_own_line_is_cut_late() {
        let list = |name: &str| {
            let failure =
                Failure { name: name.into(), reason: Some(format!("{} end", "x".repeat(120))), ..Failure::default() };
            written(|out| list_failures(&[failure], 1, 0, out))
        };
        assert!(list("short").ends_with("x…\n"));
        assert!(list(&"long ".repeat(20)).ends_with("x end\n"));
    }

    #[test]
    fn failures_on_many_nodes_are_one_line() {
        let names = |count: usize| (1..=count).map(|n| format!("worker-{n}")).collect::<Vec<_>>();
        for (named, failed, all, want) in [
            (0, 0, 0, ""),
            (1, 1, 50, " on worker-1"),
            (3, 3, 50, ": failed on 3 of 50 nodes: worker-1, worker-2, worker-3"),
            (12, 12, 50, ": failed on 12 of 50 nodes: worker-1, worker-2, … 10 more"),
            (20, 50, 50, ": failed on all 50 nodes: worker-1, worker-2, … 48 more"),
            (2, 2, 0, ": failed on 2 nodes: worker-1, worker-2"),
        ] {
            assert_eq!(nodes(&names(named), failed, all), want);
        }
        let failure = Failure {
            name: "check 33".into(),
            reason: Some("full".into()),
            reasons_differ: true,
            classname: "disks".into(),
            nodes: names(12),
            failed_nodes: 12,
            all_nodes: 50,
            ..Failure::default()
        };
        let want = "check 33 (disks): failed on 12 of 50 nodes: worker-1, worker-2, … 10 more\n    full (other nodes: other reasons)\nand 2 more\n";
        assert_eq!(written(|out| list_failures(&[failure], 14, 0, out)), want);
    }
}
