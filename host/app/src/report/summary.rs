//! The summary of a plugin as text: counts, and the failed tests.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_core::{Item, Status};

use super::failures::{Suites, TreeFailures};
use super::text;

/// The prefix that Ginkgo puts before the name of a test.
const PREFIX: &str = "[It]";

/// Prints the counts and the failed tests of the tree below `root`.
///
/// # Errors
/// `out` cannot be written.
pub fn summary(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut total = 0_u64;
    for leaf in root.leaves() {
        total += 1;
        let counted = match &leaf.status {
            Status::Failed | Status::Timeout => Status::Failed.as_str(),
            other => other.as_str(),
        };
        *counts.entry(counted).or_default() += 1;
    }
    let mut take = |status: Status| counts.remove(status.as_str()).unwrap_or_default();
    let (passed, failures, skipped) = (take(Status::Passed), take(Status::Failed), take(Status::Skipped));
    writeln!(out, "Plugin: {}", text::name(&root.name))?;
    writeln!(out, "Status: {}", root.status.brief())?;
    writeln!(out, "Total: {total}")?;
    writeln!(out, "Passed: {passed}")?;
    writeln!(out, "Failed: {failures}")?;
    writeln!(out, "Skipped: {skipped}")?;
    for (status, n) in counts {
        writeln!(out, "{}: {n}", text::name(status))?;
    }
    // Scripts read this list as names, so a suite is added only where the name is ambiguous.
    let failed = TreeFailures::of(root);
    if failed.leaves == 0 {
        return Ok(());
    }
    writeln!(out, "\nFailed tests:")?;
    let mut listed = 0;
    for test in &failed.tests {
        let label = failed.label(&test.id, Suites::IfAmbiguous) + &failed.nodes(test);
        writeln!(out, "{}", text::name(label.strip_prefix(PREFIX).unwrap_or(&label)))?;
        listed += test.data.len();
    }
    if failed.leaves > listed {
        writeln!(out, "and {} more", failed.leaves - listed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(name: &str, status: &str) -> Item {
        Item { name: name.into(), status: status.into(), ..Item::default() }
    }

    fn text(root: &Item) -> String {
        let mut out = Vec::new();
        summary(root, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn counts_are_of_leaves_and_timeouts_have_failed() {
        let file = Item {
            items: vec![leaf("[It] a", "failed"), leaf("b", "timeout"), leaf("c", "passed"), leaf("d", "odd")],
            ..leaf("f", "failed")
        };
        let root = Item { items: vec![file, leaf("e", "skipped"), leaf("g", "unknown")], ..leaf("p", "failed") };
        assert_eq!(
            text(&root),
            "Plugin: p\nStatus: failed\nTotal: 6\nPassed: 1\nFailed: 2\nSkipped: 1\nodd: 1\nunknown: 1\n\nFailed tests:\n a\nb\n"
        );
    }

    #[test]
    fn failures_are_told_apart_by_class_suite_and_node() {
        let class = |name: &str, class: &str| Item {
            meta: [("classname".to_owned(), class.to_owned())].into(),
            ..leaf(name, "failed")
        };
        let suite = |name: &str, items| Item { items, ..leaf(name, "failed") };
        let items = vec![
            suite("s", vec![class("x", "tests.a"), class("x", "tests.b"), leaf("y", "failed")]),
            suite("t", vec![leaf("y", "passed"), leaf("z", "failed")]),
        ];
        let told = text(&Item { items, ..leaf("p", "failed") });
        assert!(told.ends_with("Failed tests:\nx (tests.a)\nx (tests.b)\ny (s)\nz\n"), "{told}");
        let node = |n: u32, items| Item {
            meta: [("type".to_owned(), "node".to_owned())].into(),
            ..suite(&format!("worker-{n}"), items)
        };
        let mut nodes: Vec<Item> = (1..=12).map(|n| node(n, vec![leaf("check 33", "failed")])).collect();
        nodes.push(node(13, vec![leaf("check 33", "passed"), leaf("check 34", "failed")]));
        let told = text(&Item { items: nodes, ..leaf("p", "failed") });
        let want = "check 33: failed on 12 of 13 nodes: worker-1, worker-2, … 10 more\ncheck 34 on worker-13\n";
        assert!(told.contains("Failed: 13\n") && told.ends_with(want), "{told}");
    }

    #[test]
    fn without_failures_there_is_no_list() {
        let root = Item { items: vec![leaf("a", "passed")], ..leaf("p", "passed") };
        assert_eq!(text(&root), "Plugin: p\nStatus: passed\nTotal: 1\nPassed: 1\nFailed: 0\nSkipped: 0\n");
    }
}
