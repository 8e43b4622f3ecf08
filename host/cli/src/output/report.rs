//! `--mode report`: counts, and what failed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_core::{Item, Status};

use super::text;

/// What some frameworks put before the name of a test, and nobody needs.
const PREFIX: &str = "[It]";

/// Prints the report of the tree below `root`.
pub(crate) fn report(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut total = 0_u64;
    let mut failed = Vec::new();
    for leaf in root.leaves() {
        total += 1;
        let counted = match &leaf.status {
            Status::Failed | Status::Timeout => {
                failed.push(leaf.name.as_str());
                Status::Failed.as_str()
            }
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
    if !failed.is_empty() {
        writeln!(out, "\nFailed tests:")?;
        for name in failed {
            writeln!(out, "{}", text::name(name.strip_prefix(PREFIX).unwrap_or(name)))?;
        }
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
        report(root, &mut out).unwrap();
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
    fn without_failures_there_is_no_list() {
        let root = Item { items: vec![leaf("a", "passed")], ..leaf("p", "passed") };
        assert_eq!(text(&root), "Plugin: p\nStatus: passed\nTotal: 1\nPassed: 1\nFailed: 0\nSkipped: 0\n");
    }
}
