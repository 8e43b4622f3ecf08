//! Failures by cause, as text and as Markdown.

use std::io::{self, Write};

use plumbline_core::{FailedTest, FailedTests, Item, TestId};

use crate::causes::{Cause, by_leaf, groups};
use crate::report::failures::TreeFailures;
use crate::report::text::{name, one_line};

/// The failed tests that people see at a glance. Up to this number, reports do not group them.
const HANDFUL: usize = 5;
/// The causes that the text lists, and the tests of each.
const MAX_CAUSES: usize = 20;
const MAX_LISTED: usize = 5;
/// The tests of a cause that are distinguished.
const MAX_TESTS: usize = 10_000;

/// Whether a report of `tests` failed tests groups them by cause.
pub(crate) fn are_grouped(tests: usize, causes: &[Cause]) -> bool {
    tests > HANDFUL && !causes.is_empty() && causes.len() < tests
}

/// `47 failures, 3 causes`.
pub(crate) fn headline(failures: usize, causes: &[Cause]) -> String {
    let s = if causes.len() == 1 { "" } else { "s" };
    format!("{failures} failures, {} cause{s}", causes.len())
}

/// The tests of a cause, or of another group, with their leaves, in the order of the tree.
pub(crate) type CausedTests<'a> = Vec<FailedTest<Vec<&'a Item>>>;

/// Returns the tests of each of `causes`.
pub(crate) fn tests_by_cause<'a>(root: &'a Item, causes: &[Cause]) -> Vec<CausedTests<'a>> {
    tests_by_group(root, &groups(causes))
}

/// Returns the tests of each group, which has the numbers of leaves.
pub(super) fn tests_by_group<'a>(root: &'a Item, groups: &[&[usize]]) -> Vec<CausedTests<'a>> {
    let mut tests: Vec<FailedTests<Vec<&Item>>> = groups.iter().map(|_| FailedTests::new(MAX_TESTS)).collect();
    let by_leaf = by_leaf(groups);
    let (mut leaves, mut number) = (root.leaves(), 0);
    while let Some(leaf) = leaves.next() {
        for at in by_leaf.get(&number).into_iter().flatten() {
            let id = TestId::of(leaves.walk().ancestors(), leaf);
            if let Some(test) = tests.get_mut(*at).and_then(|tests| tests.entry(id)) {
                test.data.push(leaf);
            }
        }
        number += 1;
    }
    tests.into_iter().map(FailedTests::into_tests).collect()
}

/// Prints the causes of the failures below `root`, to follow its summary. Prints nothing for a
/// handful of tests, or if each has a cause of its own.
pub fn causes_report(root: &Item, causes: &[Cause], out: &mut impl Write) -> io::Result<()> {
    let failed = TreeFailures::of(root);
    if !are_grouped(failed.tests.len(), causes) {
        return Ok(());
    }
    writeln!(out, "\n{}:", headline(failed.leaves, causes))?;
    let width = causes.iter().map(|cause| cause.count.to_string().len()).max().unwrap_or_default();
    let all = tests_by_cause(root, causes);
    for (cause, tests) in causes.iter().zip(&all).take(MAX_CAUSES) {
        writeln!(out, "{:>width$}  {} (cause {})", cause.count, one_line(&cause.template), name(&cause.id))?;
        for test in tests.iter().take(MAX_LISTED) {
            writeln!(out, "{:width$}    {}", "", name(&failed.line(test)))?;
        }
        if tests.len() > MAX_LISTED {
            writeln!(out, "{:width$}    and {} more", "", tests.len() - MAX_LISTED)?;
        }
    }
    if causes.len() > MAX_CAUSES {
        writeln!(out, "and {} more causes", causes.len() - MAX_CAUSES)?;
    }
    let without = failed.leaves.saturating_sub(causes.iter().map(|cause| cause.count).sum());
    if without > 0 {
        writeln!(out, "failures without a cause: {without}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{leaf, node, written};

    fn failed(name: &str) -> Item {
        leaf(name, "failed")
    }

    fn cause(id: &str, items: Vec<usize>) -> Cause {
        Cause { id: id.into(), template: format!("template\u{1b} {id}"), count: items.len(), items }
    }

    fn text(root: &Item, causes: &[Cause]) -> String {
        written(|out| causes_report(root, causes, out))
    }

    #[test]
    fn failures_are_listed_by_cause() {
        let mut items: Vec<Item> = (0..12).map(|n| failed(&format!("t{n}"))).collect();
        items.insert(0, leaf("p", "passed"));
        let root = Item { items, ..failed("p") };
        let causes = [cause("aa", (1..=10).collect()), cause("bb", vec![11])];
        let want = "\n12 failures, 2 causes:\n10  template\u{fffd} aa (cause aa)\n      t0\n      t1\n      t2\n      t3\n      t4\n      and 5 more\n \
                    1  template\u{fffd} bb (cause bb)\n      t10\nfailures without a cause: 1\n";
        assert_eq!(text(&root, &causes), want);
    }

    #[test]
    fn a_test_on_many_nodes_is_one_line() {
        let node = |n: usize| node(&format!("n{n}"), (0..6).map(|test| failed(&format!("disk {test}"))).collect());
        let root = Item { items: (0..9).map(node).collect(), ..failed("p") };
        let report = text(&root, &[cause("aa", (0..54).collect())]);
        assert!(report.starts_with("\n54 failures, 1 cause:\n54  "), "{report}");
        assert!(report.contains("(cause aa)\n      disk 0: failed on all 9 nodes: n0, n1, … 7 more\n"), "{report}");
        assert!(report.ends_with("      and 1 more\n"), "{report}");
    }

    #[test]
    fn a_handful_and_failures_with_causes_of_their_own_are_not_grouped() {
        let root = |count: usize| Item { items: (0..count).map(|n| failed(&n.to_string())).collect(), ..failed("p") };
        assert_eq!(text(&root(5), &[cause("aa", (0..5).collect())]), "");
        let own: Vec<Cause> = (0..6).map(|n| cause(&n.to_string(), vec![n])).collect();
        assert_eq!(text(&root(6), &own), "");
        assert_eq!(text(&root(6), &[]), "");
    }
}
