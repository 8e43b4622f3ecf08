//! What happened in the cluster at the place and time of failures, as text and as Markdown.

use std::io::{self, Write};

use plumbline_core::Item;

use crate::report::causes::{CausedTests, tests_by_group};
use crate::report::failures::TreeFailures;
use crate::report::text::{escape_line, name};
use crate::timeline::Relation;

/// The most events that are listed, and the most tests of each.
const MAX_LISTED: usize = 10;
const MAX_TESTS: usize = 5;

/// Prints what happened in the cluster at the place and time of failures below `root`, to follow its
/// summary. Prints nothing if nothing is known.
pub fn timeline_report(root: &Item, relations: &[Relation], out: &mut impl Write) -> io::Result<()> {
    list(root, relations, "\nCluster events near failures:", ["", "    "], name, out)
}

/// Prints the same as Markdown, with the title of the tree.
pub(super) fn timeline_markdown(root: &Item, relations: &[Relation], out: &mut impl Write) -> io::Result<()> {
    let title = format!("\n### {}: cluster events near failures\n", escape_line(&root.name));
    list(root, relations, &title, ["- ", "  - "], escape_line, out)
}

fn list(
    root: &Item,
    relations: &[Relation],
    title: &str,
    [event, test]: [&str; 2],
    shown: fn(&str) -> String,
    out: &mut impl Write,
) -> io::Result<()> {
    if relations.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    for (relation, labels) in listed(root, relations) {
        writeln!(out, "{event}{}", shown(&relation.sentence))?;
        labels.iter().try_for_each(|label| writeln!(out, "{test}{}", shown(label)))?;
    }
    match relations.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => writeln!(out, "\nand {more} more cluster events"),
    }
}

/// The first relations, each with the labels of its first tests and the number of the others.
fn listed<'a>(root: &Item, relations: &'a [Relation]) -> Vec<(&'a Relation, Vec<String>)> {
    let failed = TreeFailures::of(root);
    let shown = relations.get(..MAX_LISTED).unwrap_or(relations);
    let groups: Vec<&[usize]> = shown.iter().map(|relation| relation.items.as_slice()).collect();
    let tests = tests_by_group(root, &groups);
    let labels = |tests: &CausedTests<'_>| {
        let mut labels: Vec<String> = tests.iter().take(MAX_TESTS).map(|test| failed.line(test)).collect();
        if tests.len() > MAX_TESTS {
            labels.push(format!("and {} more", tests.len() - MAX_TESTS));
        }
        labels
    };
    shown.iter().zip(tests.iter().map(labels)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use plumbline_core::timeline::{TimelineEntry, TimelineKind};

    use super::*;
    use crate::report::testing::{leaf, written};
    use crate::timeline::Span;

    fn failed(name: &str) -> Item {
        leaf(name, "failed")
    }

    fn relation(sentence: &str, items: Vec<usize>) -> Relation {
        let entry = TimelineEntry::new(Timestamp::UNIX_EPOCH, TimelineKind::NodeCondition, "Ready", "");
        Relation { span: Arc::new(Span::of(entry)), sentence: sentence.into(), items }
    }

    #[test]
    fn each_event_lists_its_failures() {
        let root = Item { items: (0..8).map(|n| failed(&format!("t{n}"))).collect(), ..failed("p") };
        let mut relations = vec![relation("node lab2 was not ready", (0..7).collect()), relation("other", vec![0])];
        let want = "\nCluster events near failures:\nnode lab2 was not ready\n    t0\n    t1\n    t2\n    t3\n    t4\n    and 2 more\nother\n    t0\n";
        assert_eq!(written(|out| timeline_report(&root, &relations, out)), want);
        relations.extend((0..30).map(|n| relation(&n.to_string(), vec![1])));
        assert!(written(|out| timeline_report(&root, &relations, out)).ends_with("\nand 22 more cluster events\n"));
        assert_eq!(written(|out| timeline_report(&root, &[], out)), "");
    }

    #[test]
    fn markdown_escapes_names() {
        let root = Item { items: vec![failed("a|b <i>")], ..failed("p") };
        let want = "\n### p: cluster events near failures\n\n- node \\[x\\](y) @&#8203;you\n  - a\\|b &lt;i&gt;\n";
        let relations = [relation("node [x](y) @you", vec![0])];
        assert_eq!(written(|out| timeline_markdown(&root, &relations, out)), want);
    }
}
