//! Trees as Markdown, for a job summary or a comment.

use std::io::{self, Write};

use plumbline_core::item::seconds;
use plumbline_core::{FailedTest, Item, TestId, Verdict};

use crate::causes::Cause;
use crate::report::causes::{are_grouped, headline, tests_by_cause};
use crate::report::facts::{Counts, ReportFacts};
use crate::report::failures::{Suites, TreeFailures, reason_of};
use crate::report::nodes::{Distinction, MAX_VALUES, NodeResults, Nodes, some_names};
use crate::report::slowest::Slowest;
use crate::report::text::{LeafCounts, escape, escape_line, short_seconds};
use crate::report::timeline::timeline_markdown;
use crate::timeline::Relation;

/// The most failed tests in a list. The number of further ones is below it.
const MAX_LISTED: usize = 50;

/// The most failed tests of a cause, if failures are grouped.
const MAX_OF_CAUSE: usize = 10;

/// The most slow leaves in a list.
const MAX_SLOWEST: usize = 5;

/// The seconds from which a leaf is listed as slow.
const SLOW: f64 = 1.0;

/// A tree with what is known of its failures.
pub struct CollectedTree {
    /// The tree.
    pub root: Item,
    /// The causes of its failures.
    pub causes: Vec<Cause>,
    /// What happened in the cluster at the place and time of its failures.
    pub relations: Vec<Relation>,
}

/// Prints the verdict over all trees, what counts, and what is known about the run. The plugin with
/// results of the most nodes has `nodes` of them.
pub(crate) fn head_markdown(
    verdict: Verdict,
    facts: &ReportFacts,
    counts: Counts,
    nodes: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "## Results of {}\n\n**{verdict}**: {}\n", escape(&facts.archive), counts.sentence())?;
    let facts = facts.titled(nodes);
    let facts: Vec<String> = facts.iter().map(|(title, fact)| format!("{title}: {}", escape(fact))).collect();
    if facts.is_empty() { Ok(()) } else { writeln!(out, "{}\n", facts.join(" · ")) }
}

/// Prints what distinguishes the nodes on which something failed, of each plugin, and the facts that
/// differ between nodes.
pub(crate) fn nodes_markdown<'a>(
    plugins: impl Iterator<Item = (&'a str, &'a NodeResults)>,
    known: &Nodes,
    out: &mut impl Write,
) -> io::Result<()> {
    for (plugin, nodes) in plugins {
        let found = known.distinctions(nodes);
        if found.is_empty() {
            continue;
        }
        writeln!(out, "\n### {}: what distinguishes failed nodes\n", escape(plugin))?;
        writeln!(out, "| property | value | failed nodes | other nodes |\n|---|---|---:|---:|")?;
        for Distinction { key, value, failed, others } in &found {
            let (key, value) = (escape(key), escape(value));
            writeln!(out, "| {key} | {value} | {} of {} | {} of {} |", failed.0, failed.1, others.0, others.1)?;
        }
    }
    if known.drift.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### Facts that differ between nodes\n\n| fact | most nodes | other nodes |\n|---|---|---|")?;
    for drift in known.drift.iter().take(MAX_LISTED) {
        let (value, nodes) = &drift.majority;
        let mut others: Vec<String> = drift
            .differing
            .iter()
            .take(MAX_VALUES)
            .map(|(value, nodes, names)| {
                format!("{} on {nodes}: {}", escape(value), escape(&some_names(names, *nodes)))
            })
            .collect();
        if drift.differing.len() > MAX_VALUES {
            others.push(format!("and {} more values", drift.differing.len() - MAX_VALUES));
        }
        writeln!(out, "| {} | {} on {nodes} | {} |", escape(&drift.fact), escape(value), others.join("<br>"))?;
    }
    match known.drift.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => writeln!(out, "\nand {more} more facts"),
    }
}

/// Prints a table of plugins, and the failed tests of each below it: by cause, if there are many.
/// Then prints what happened in the cluster.
pub fn markdown(trees: &[CollectedTree], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| plugin | status | passed | failed | skipped | other |")?;
    writeln!(out, "|---|---|---:|---:|---:|---:|")?;
    for CollectedTree { root, .. } in trees {
        let counts = LeafCounts::of(root);
        let (passed, failed, skipped, other) = (counts.passed, counts.failed, counts.skipped, counts.other());
        let (name, status) = (escape(&root.name), escape(&root.status.brief()));
        writeln!(out, "| {name} | {status} | {passed} | {failed} | {skipped} | {other} |")?;
    }
    for CollectedTree { root, causes, relations } in trees {
        let failed = TreeFailures::of(root);
        if are_grouped(failed.tests.len(), causes) {
            by_cause(root, &failed, causes, out)?;
        } else if failed.leaves > 0 {
            writeln!(out, "\n### {}: {} failed\n", escape(&root.name), failed.leaves)?;
            let listed = list(&failed, &failed.tests, MAX_LISTED, out)?;
            rest(failed.leaves, listed, out)?;
        }
        timeline_markdown(root, relations, out)?;
    }
    Ok(())
}

/// Prints the slowest leaves of each tree.
pub(crate) fn slowest_markdown(trees: &[CollectedTree], out: &mut impl Write) -> io::Result<()> {
    trees.iter().try_for_each(|tree| slowest(&tree.root, out))
}

/// Lists the failed tests of each cause.
fn by_cause(root: &Item, failed: &TreeFailures<'_>, causes: &[Cause], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n### {}: {}", escape(&root.name), headline(failed.leaves, causes))?;
    let (mut room, mut unlisted) = (MAX_LISTED, failed.leaves);
    for (cause, tests) in causes.iter().zip(tests_by_cause(root, causes)) {
        if room == 0 {
            break;
        }
        let most = room.min(MAX_OF_CAUSE);
        writeln!(out, "\n{} × {} (cause {}):\n", cause.count, escape(&cause.template), escape(&cause.id))?;
        let listed = list(failed, &tests, most, out)?;
        rest(cause.count, listed, out)?;
        room -= tests.len().min(most);
        unlisted -= cause.count.min(unlisted);
    }
    if unlisted > 0 {
        writeln!(out, "\nFailures with other causes: {unlisted}")?;
    }
    Ok(())
}

/// Lists the first `most` of `tests`. Returns the number of their leaves.
fn list(
    failed: &TreeFailures<'_>,
    tests: &[FailedTest<Vec<&Item>>],
    most: usize,
    out: &mut impl Write,
) -> io::Result<usize> {
    let mut listed = 0;
    for test in tests.iter().take(most) {
        let reason = reason_of(&test.data).map(|text| format!(": {}", escape(&text))).unwrap_or_default();
        // The duration on the slowest node.
        let seconds = test.data.iter().filter_map(|leaf| seconds(&leaf.meta)).max_by(f64::total_cmp);
        let took = seconds.map(|seconds| format!(" ({})", short_seconds(seconds))).unwrap_or_default();
        let (name, nodes) = (escape(&failed.label(&test.id, Suites::IfSeveral)), escape_line(&failed.nodes(test)));
        writeln!(out, "- **{name}**{nodes}{took}{reason}")?;
        listed += test.data.len();
    }
    Ok(listed)
}

fn rest(all: usize, listed: usize, out: &mut impl Write) -> io::Result<()> {
    if all > listed { writeln!(out, "- and {} more", all - listed) } else { Ok(()) }
}

/// Prints Markdown of at most `most` bytes: whole lines, and a note if some are left out. Services
/// reject summaries and comments above their limits.
pub fn limited(text: &str, most: usize, out: &mut impl Write) -> io::Result<()> {
    if text.len() <= most {
        return out.write_all(text.as_bytes());
    }
    let note = |lines: usize| format!("\n… {lines} more lines are left out: the limit is {most} bytes\n");
    let lines = text.lines().count();
    // The number of lines that are left out is not longer than that of all lines.
    let room = most.saturating_sub(note(lines).len());
    let end = text.get(..text.floor_char_boundary(room)).and_then(|head| head.rfind('\n')).map_or(0, |end| end + 1);
    let head = text.get(..end).unwrap_or_default();
    let note = note(lines - head.lines().count());
    out.write_all(head.as_bytes())?;
    if head.len() + note.len() <= most { out.write_all(note.as_bytes()) } else { Ok(()) }
}

fn slowest(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let mut slowest = Slowest::new(MAX_SLOWEST);
    let mut leaves = root.leaves();
    while let Some(leaf) = leaves.next() {
        if let Some(seconds) = seconds(&leaf.meta).filter(|seconds| *seconds >= SLOW) {
            slowest.add(seconds, || (&leaf.status, TestId::of(leaves.walk().ancestors(), leaf)));
        }
    }
    if slowest.leaves().is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### {}: slowest\n", escape(&root.name))?;
    writeln!(out, "| took | status | |\n|---:|---|---|")?;
    let labels = TreeFailures::of(root);
    for (seconds, (status, id)) in slowest.into_leaves() {
        let (status, name) = (escape(status.as_str()), escape(&labels.label(&id, Suites::IfSeveral)));
        let node = id.node.map(|node| format!(" on {}", escape(&node))).unwrap_or_default();
        writeln!(out, "| {} | {status} | {name}{node} |", short_seconds(seconds))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{leaf, node, written};

    fn collected(root: Item, causes: Vec<Cause>) -> CollectedTree {
        CollectedTree { root, causes, relations: Vec::new() }
    }

    #[test]
    fn foreign_names_stay_text() {
        let details = [("failure".to_owned(), "\n[x](y)\nmore".into())].into_iter().collect();
        let failed = Item { details, ..leaf("a|b <script> @you", "failed") };
        let root = Item { items: vec![failed], ..leaf("p", "failed") };
        let text = written(|out| markdown(&[collected(root, Vec::new())], out));
        assert!(text.contains("| p | failed | 0 | 1 | 0 | 0 |"), "{text}");
        assert!(text.contains(r"- **a\|b &lt;script&gt; @&#8203;you**: \[x\](y)"), "{text}");
    }

    #[test]
    fn markdown_is_cut_at_a_line_and_says_so() {
        let text = "| é |\n".repeat(100);
        let of = |most: usize| written(|out| limited(&text, most, out));
        assert_eq!(of(text.len()), text);
        for most in 0..text.len() {
            let shown = of(most);
            assert!(shown.len() <= most, "{most}: {}", shown.len());
        }
        let shown = of(300);
        let (rows, note) = shown.split_once("\n\n").unwrap();
        let rows = rows.lines().count();
        assert_eq!(note, format!("… {} more lines are left out: the limit is 300 bytes\n", 100 - rows));
    }

    #[test]
    fn failures_name_suite_class_and_nodes() {
        let leaf = |reason: &str| Item {
            meta: [("classname".to_owned(), "tests.a".to_owned())].into(),
            details: [("failure".to_owned(), reason.into())].into_iter().collect(),
            ..leaf("x", "failed")
        };
        let suite = |name: &str, items| Item { name: name.into(), items, ..Item::default() };
        let root = suite(
            "p",
            vec![
                node("n1", vec![suite("s", vec![leaf("why")]), suite("t", vec![leaf("no")])]),
                node("n2", vec![suite("s", vec![leaf("/src/a.go:1\nwhy")])]),
            ],
        );
        let text = written(|out| markdown(&[collected(root, Vec::new())], out));
        assert!(text.contains("### p: 3 failed\n\n- **x (s › tests.a)**: failed on all 2 nodes: n1, n2: why\n- **x (t › tests.a)** on n1: no\n"), "{text}");
    }

    #[test]
    fn many_failures_are_grouped_by_cause() {
        let items = (0..14).map(|n| leaf(&format!("t{n}"), "failed")).collect();
        let root = Item { items, ..leaf("p", "failed") };
        let cause = |id: &str, items: std::ops::Range<usize>| Cause {
            id: id.into(),
            template: "no <*> left".into(),
            count: items.len(),
            items: items.collect(),
        };
        let text = written(|out| markdown(&[collected(root, vec![cause("aa", 0..12), cause("bb", 12..13)])], out));
        let first = "### p: 14 failures, 2 causes\n\n12 × no &lt;\\*&gt; left (cause aa):\n\n- **t0**\n";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("- **t9**\n- and 2 more\n\n1 × no"), "{text}");
        assert!(text.ends_with("- **t12**\n\nFailures with other causes: 1\n"), "{text}");
    }
}
