//! The verdict over a plugin, as text and in other formats.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use plumbline_core::judgement::{
    Check, CheckOutcome, ClassCount, NO_RULING, PluginVerdict, RuledItem, Ruling, VerdictStatus, VerdictSummary,
};
use plumbline_core::rollup::is_failure;
use plumbline_core::{GLOBAL, Item, Status};

use crate::report::failures::nodes;
use crate::report::text::{escape, name, one_line};

/// The most failures in a list. Further ones are only counted.
const MAX_LISTED: usize = 100;

/// A row of the table of a verdict: a class of items, or the checks.
#[derive(Default)]
struct Row {
    name: String,
    number: u64,
    /// Follows the number in a row that has no further columns.
    rest: String,
    /// Whether the items of the class count: `yes`, `no`, or how many of them.
    counts: String,
    reason: String,
}

/// The rows of the table: classes that count are first, and then the largest.
fn rows(verdict: &VerdictSummary) -> Vec<Row> {
    let mut classes: Vec<(&String, &ClassCount)> = verdict.classes.iter().collect();
    classes.sort_by_key(|(class, count)| (count.counting == 0, Reverse(count.items), *class));
    let mut rows: Vec<Row> = classes
        .into_iter()
        .map(|(class, count)| Row {
            name: name(class),
            number: count.items,
            counts: match count.counting {
                0 => "no".to_owned(),
                counting if counting == count.items => "yes".to_owned(),
                counting => format!("{counting} of them"),
            },
            reason: verdict.reasons.get(class).map(|reason| name(reason)).unwrap_or_default(),
            ..Row::default()
        })
        .collect();
    if verdict.unknown > 0 {
        let (name, counts, reason) = ("unknown status".to_owned(), "unknown".to_owned(), NO_RULING.to_owned());
        rows.push(Row { name, number: verdict.unknown, counts, reason, ..Row::default() });
    }
    let rest = |name: &str, number, rest| Row { name: name.to_owned(), number, rest, ..Row::default() };
    if verdict.checks > 0 {
        let met = verdict.checks.saturating_sub(verdict.checks_failed).saturating_sub(verdict.checks_unknown);
        let unknown = match verdict.checks_unknown {
            0 => String::new(),
            unknown => format!(", {unknown} unknown"),
        };
        rows.push(rest("checks", met, format!(" of {} met{unknown}", verdict.checks)));
    }
    if verdict.judges_failed > 0 {
        rows.push(rest("judges", verdict.judges_failed, " did not finish".to_owned()));
    }
    rows
}

/// The lines of a table of what the verdict consists of, indented by `indent` columns. Without failures,
/// rulings and checks, there are none.
pub(crate) fn verdict_table(verdict: &VerdictSummary, indent: usize) -> Vec<String> {
    let rows = rows(verdict);
    let widest = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).chars().count()).max().unwrap_or_default();
    let width = widest(|row| row.name.as_str()).max("class".len());
    let wide = widest(|row| row.counts.as_str()).max("counts".len());
    let has_classes = rows.iter().any(|row| row.rest.is_empty());
    let head = has_classes.then(|| format!("{:indent$}{:width$}   tests   counts", "", "class"));
    let lines = rows.iter().map(|Row { name, number, rest, counts, reason }| {
        let line = match rest.is_empty() {
            true => format!("{:indent$}{name:width$}   {number:>5}   {counts:wide$}  {reason}", ""),
            false => format!("{:indent$}{name:width$}   {number:>5}{rest}", ""),
        };
        line.trim_end().to_owned()
    });
    head.into_iter().chain(lines).collect()
}

/// The verdict in a few words: with its reason, if no table shows one.
pub(crate) fn brief(verdict: &VerdictSummary) -> String {
    let is_bare = verdict.status == VerdictStatus::Unknown && rows(verdict).is_empty();
    if is_bare { format!("{}: there was nothing to judge", verdict.status) } else { verdict.status.to_string() }
}

/// The summary with every class, of which a status has the most frequent ones only.
fn in_full(verdict: &PluginVerdict) -> VerdictSummary {
    VerdictSummary { classes: verdict.classes.clone(), reasons: verdict.reasons(), ..verdict.summary() }
}

/// Prints the verdict over a plugin as text, to follow its summary.
pub fn verdict_report(verdict: &PluginVerdict, out: &mut impl Write) -> io::Result<()> {
    let summary = in_full(verdict);
    writeln!(out, "\nVerdict: {}", brief(&summary))?;
    let table = verdict_table(&summary, 2);
    if !table.is_empty() {
        writeln!(out, "\n{}", table.join("\n"))?;
    }
    let failed: Vec<_> = verdict.chain.iter().filter_map(|it| Some((&it.judge, it.error.as_ref()?))).collect();
    if !failed.is_empty() {
        writeln!(out, "\nJudges that could not finish:")?;
        failed.iter().try_for_each(|(judge, error)| writeln!(out, "{}: {}", name(judge), one_line(error)))?;
    }
    let counting = || verdict.items.iter().filter(|item| item.ruling.counts);
    if verdict.counting > 0 {
        writeln!(out, "\nFailures that count:")?;
        let groups = by_test(counting());
        let mut listed = 0_u64;
        for (item, on) in groups.iter().take(MAX_LISTED) {
            listed = listed.saturating_add(on.len() as u64);
            let on: Vec<String> = on.iter().filter(|item| on_node(item)).map(|item| item.set.clone()).collect();
            let on = name(&nodes(&on, on.len() as u64, 0));
            writeln!(out, "{}{on} ({})", name(item.name()), because(&item.ruling))?;
        }
        let hidden = verdict.counting.saturating_sub(listed);
        if hidden > 0 {
            writeln!(out, "and {hidden} more")?;
        }
    }
    let failed = failed_checks(verdict);
    if !failed.is_empty() {
        writeln!(out, "\nChecks that did not pass:")?;
        for check in failed {
            let unknown = if check.outcome == CheckOutcome::Unknown { "unknown: " } else { "" };
            let mut line = format!("{} {}: {unknown}want {}", check.id, check.name, check.want);
            if !check.got.is_empty() {
                line.push_str(&format!(", got {}", check.got));
            }
            if !check.reason.is_empty() {
                line.push_str(&format!(" ({})", one_line(&check.reason)));
            }
            writeln!(out, "{}", name(&line))?;
        }
    }
    Ok(())
}

/// The checks that did not pass.
pub(super) fn failed_checks(verdict: &PluginVerdict) -> Vec<&Check> {
    verdict.checks.iter().map(|judged| &judged.check).filter(|check| check.outcome != CheckOutcome::Passed).collect()
}

/// Groups items with the same path and ruling: a test that failed on several nodes.
fn by_test<'a>(items: impl Iterator<Item = &'a RuledItem>) -> Vec<(&'a RuledItem, Vec<&'a RuledItem>)> {
    let mut groups: Vec<(&RuledItem, Vec<&RuledItem>)> = Vec::new();
    let mut known: HashMap<(&[String], String), usize> = HashMap::new();
    for item in items {
        let at = *known.entry((&item.path, because(&item.ruling))).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.push(item),
            None => groups.push((item, vec![item])),
        }
    }
    groups
}

fn on_node(item: &RuledItem) -> bool {
    !item.set.is_empty() && item.set != GLOBAL && item.path.last().is_some()
}

/// The class, the reason and the source, on one line.
fn because(ruling: &Ruling) -> String {
    let mut text = ruling.class.clone();
    if !ruling.reason.is_empty() {
        text.push_str(&format!(": {}", one_line(&ruling.reason)));
    }
    if !ruling.source.is_empty() {
        text.push_str(&format!(", {}", one_line(&ruling.source)));
    }
    name(&text)
}

/// Prints the verdicts as Markdown, to follow the table of plugins.
pub fn verdict_markdown(verdicts: &[PluginVerdict], out: &mut impl Write) -> io::Result<()> {
    for verdict in verdicts {
        let summary = in_full(verdict);
        writeln!(out, "\n### Verdict on {}: {}", escape(&verdict.plugin), brief(&summary))?;
        verdict_rows(&summary, out)?;
        let failed = failed_checks(verdict);
        if !failed.is_empty() {
            writeln!(out, "\n| check | | want | got |\n|---|---|---|---|")?;
            for check in failed {
                // Without a value, the reason says why there is none.
                let got = if check.got.is_empty() { &check.reason } else { &check.got };
                let cells = [&check.id, &check.name, &check.want, got].map(|text| escape(text));
                writeln!(out, "| {} |", cells.join(" | "))?;
            }
        }
        // Items that count are first. If there are too many, the classes of the others suffice.
        let mut items: Vec<&RuledItem> = verdict.items.iter().collect();
        items.sort_by_key(|item| !item.ruling.counts);
        if !items.is_empty() {
            writeln!(out, "\n| item | status | class | counts | reason | source |\n|---|---|---|---|---|---|")?;
        }
        for item in items.iter().take(MAX_LISTED) {
            let counts = if item.ruling.counts { "yes" } else { "no" };
            let Ruling { class, reason, source, .. } = &item.ruling;
            let cells = [item.name(), item.status.as_str(), class, counts, reason, source].map(escape);
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        let hidden = (items.len() as u64).saturating_add(verdict.left_out).saturating_sub(MAX_LISTED as u64);
        if items.len() > MAX_LISTED || verdict.left_out > 0 {
            writeln!(out, "\nand {hidden} more")?;
        }
    }
    Ok(())
}

/// Prints the table of a verdict as Markdown.
fn verdict_rows(verdict: &VerdictSummary, out: &mut impl Write) -> io::Result<()> {
    let rows = rows(verdict);
    if !rows.is_empty() {
        writeln!(out, "\n| class | tests | counts | |\n|---|---:|---|---|")?;
    }
    for Row { name, number, rest, counts, reason } in rows {
        writeln!(out, "| {} | {number}{rest} | {counts} | {} |", escape(&name), escape(&reason))?;
    }
    Ok(())
}

/// Rulings by the path and status of their leaf. Leaves with the same path and status are in the
/// order of the tree.
pub(crate) struct Rulings<'a>(HashMap<String, VecDeque<&'a RuledItem>>);

impl<'a> Rulings<'a> {
    pub(crate) fn new(verdict: Option<&'a PluginVerdict>) -> Self {
        let mut rulings: HashMap<String, VecDeque<&RuledItem>> = HashMap::new();
        for item in verdict.map(|verdict| verdict.items.as_slice()).unwrap_or_default() {
            // Only result sets of nodes are items of the tree.
            let set = Some(item.set.as_str()).filter(|set| !set.is_empty() && *set != GLOBAL);
            let names = set.into_iter().chain(item.path.iter().map(String::as_str));
            rulings.entry(joined(names, &item.status)).or_default().push_back(item);
        }
        Self(rulings)
    }

    /// The ruling on the next leaf with this path below the root, and this status.
    pub(crate) fn next<'b>(
        &mut self,
        path: impl Iterator<Item = &'b str>,
        status: &'b Status,
    ) -> Option<&'a RuledItem> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get_mut(&joined(path, status))?.pop_front()
    }
}

/// Joins names with zero bytes, which names in trees do not have.
fn joined<'a>(names: impl Iterator<Item = &'a str>, status: &'a Status) -> String {
    names.chain([status.as_str()]).collect::<Vec<_>>().join("\0")
}

/// Applies a ruling to a leaf, for formats without verdicts: an excused leaf becomes skipped, one that
/// counts becomes failed, and the details have the reason.
pub(crate) fn judged(mut item: Item, ruled: Option<&RuledItem>) -> Item {
    let Some(ruled) = ruled else { return item };
    let text = because(&ruled.ruling);
    let (status, detail) = match (is_failure(&item.status), ruled.ruling.counts) {
        (true, false) => (Status::Skipped, "skipped"),
        (false, false) if item.status.meaning() == Status::Skipped => (Status::Skipped, "skipped"),
        (false, false) => return item,
        (_, true) => (Status::Failed, "failure"),
    };
    let own = item.details.get(detail).and_then(|own| own.as_str()).unwrap_or_default();
    let text = if own.is_empty() { text } else { format!("{text}\n\n{own}") };
    item.details.insert(detail.to_owned(), text.into());
    item.status = status;
    item
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::testing::written;

    fn verdict() -> PluginVerdict {
        serde_json::from_value(json!({
            "version": 1, "plugin": "e2e", "status": "failed", "failures": 3, "excused": 2, "counting": 2,
            "chain": [{"judge": "known-failures"}, {"judge": "checks", "error": "module `checks` crashed"}],
            "classes": {
                "known-failure": {"items": 2, "counting": 0, "failures": 2},
                "failure": {"items": 1, "counting": 1, "failures": 1},
                "skip-not-allowed": {"items": 1, "counting": 1, "failures": 0},
            },
            "items": [
                {"set": "global", "path": ["s", "a"], "status": "failed", "class": "known-failure", "counts": false,
                 "reason": "no UDP\u{1b}", "source": "https://example.org/1", "judge": "known-failures"},
                {"set": "global", "path": ["s", "b"], "status": "failed", "class": "failure", "counts": true, "reason": "no judge knows it"},
                {"set": "n1", "path": ["c"], "status": "skipped", "class": "skip-not-allowed", "counts": true, "judge": "allowed-skips"},
                {"set": "global", "path": ["s", "d"], "status": "timeout", "class": "known-failure", "counts": false, "judge": "known-failures"},
            ],
            "checks": [
                {"id": "PODS-001", "name": "pods are healthy", "outcome": "failed", "want": ">= 98 %", "got": "96.4 % (27 of 28)", "judge": "checks"},
                {"id": "LOG-001", "name": "etcd is quick", "outcome": "unknown", "want": "< 100ms", "reason": "no line matched", "judge": "checks"},
                {"id": "N-001", "name": "n", "outcome": "passed", "judge": "checks"},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn the_table_has_what_counts_first_and_ends_with_checks() {
        let table = |summary: serde_json::Value| verdict_table(&serde_json::from_value(summary).unwrap(), 0).join("\n");
        let excused = json!({
            "status": "passed", "failures": 4, "excused": 4, "checks": 7,
            "classes": {"flaky": {"items": 1, "failures": 1}, "known-failure": {"items": 3, "failures": 3}},
            "reasons": {"flaky": "passed on retry 1", "known-failure": "list known.yaml, reviewed 2026-11-02"},
        });
        insta::assert_snapshot!(table(excused), @"
        class           tests   counts
        known-failure       3   no      list known.yaml, reviewed 2026-11-02
        flaky               1   no      passed on retry 1
        checks              7 of 7 met
        ");
        let mixed = json!({
            "status": "failed", "unknown": 12, "checks": 3, "checks-failed": 1, "checks-unknown": 1, "judges-failed": 1,
            "classes": {"known-failure": {"items": 30, "failures": 30}, "own\u{1b}": {"items": 4, "counting": 2}},
        });
        insta::assert_snapshot!(table(mixed), @"
        class            tests   counts
        own\u{fffd}                 4   2 of them
        known-failure       30   no
        unknown status      12   unknown    no judge ruled on it
        checks               1 of 3 met, 1 unknown
        judges               1 did not finish
        ");
        assert_eq!(table(json!({"checks": 2})), "checks       2 of 2 met");
        assert_eq!(table(json!({"status": "passed"})), "");
    }

    #[test]
    fn a_verdict_without_a_table_says_why_it_is_unknown() {
        let words = |summary: serde_json::Value| brief(&serde_json::from_value(summary).unwrap());
        assert_eq!(words(json!({"status": "passed"})), "passed");
        assert_eq!(words(json!({"status": "unknown"})), "unknown: there was nothing to judge");
        assert_eq!(words(json!({"status": "unknown", "judges-failed": 1})), "unknown");
    }

    #[test]
    fn the_report_says_what_counts_and_why() {
        let mut out = Vec::new();
        verdict_report(&verdict(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_failure_on_many_nodes_is_one_line() {
        let on = |node: String| json!({"set": node, "path": ["check 33"], "status": "failed", "class": "failure", "counts": true});
        let items: Vec<_> = (0..12).map(|n| on(format!("n{n}"))).collect();
        let verdict = json!({
            "version": 1, "plugin": "p", "status": "failed", "failures": 12, "excused": 0, "counting": 12,
            "chain": [], "classes": {}, "items": items, "checks": [],
        });
        let shown = written(|out| verdict_report(&serde_json::from_value(verdict).unwrap(), out));
        let (_, failures) = shown.split_once("Failures that count:\n").unwrap();
        assert_eq!(failures, "check 33: failed on 12 nodes: n0, n1, … 10 more (failure)\n");
    }

    #[test]
    fn markdown_has_every_class_and_reason() {
        let mut out = Vec::new();
        verdict_markdown(&[verdict()], &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
