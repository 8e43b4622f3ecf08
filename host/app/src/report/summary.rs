//! Results as text, in the forms that scripts expect: the summary of a plugin, its leaves as lines
//! of JSON, and the health of the cluster. Also items whose outcome is unknown, and why nothing is
//! known.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_core::rollup::worst;
use plumbline_core::{GLOBAL, Item, Meta, Status, reason};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value};

use crate::report::failures::{PREFIX, Suites, TreeFailures};
use crate::report::text::{LeafCounts, is_escaped, name, one_line, write_escaped};

/// Prints the counts and the failed tests of the tree below `root`.
pub fn summary(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let counts = LeafCounts::of(root);
    let total = counts.passed + counts.failed + counts.skipped + counts.other();
    writeln!(out, "Plugin: {}", name(&root.name))?;
    writeln!(out, "Status: {}", root.status.brief())?;
    writeln!(out, "Total: {total}")?;
    writeln!(out, "Passed: {}", counts.passed)?;
    writeln!(out, "Failed: {}", counts.failed)?;
    writeln!(out, "Skipped: {}", counts.skipped)?;
    for (status, n) in counts.others {
        writeln!(out, "{}: {n}", name(status))?;
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
        writeln!(out, "{}", name(label.strip_prefix(PREFIX).unwrap_or(&label)))?;
        listed += test.data.len();
    }
    if failed.leaves > listed {
        writeln!(out, "and {} more", failed.leaves - listed)?;
    }
    Ok(())
}

/// A leaf, with its path in the tree under `meta.path`.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    status: &'a Status,
    meta: &'a Meta,
    #[serde(skip_serializing_if = "Map::is_empty")]
    details: &'a Map<String, Value>,
}

/// Prints every leaf below `root`: as a line of JSON, or, for a leaf with a file, as the content of
/// that file. `copy` writes the file, whose path is relative to the plugin's directory. Unless
/// `skip_prefix` is set, the path of the leaf is before the content.
pub fn detailed(
    root: &Item,
    skip_prefix: bool,
    out: &mut impl Write,
    mut copy: impl FnMut(&str, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut walk = root.walk();
    while let Some(item) = walk.next() {
        if !item.is_leaf() {
            continue;
        }
        if let Some(file) = item.meta.get("file") {
            if !skip_prefix {
                write!(out, "{} ", name(&walk.path().join("|")))?;
            }
            let mut content = Ended { out: &mut *out, last: None };
            // Archives that were made on Windows have its separator in paths.
            copy(&file.replace('\\', "/"), &mut content)?;
            if content.last != Some(b'\n') {
                writeln!(out)?;
            }
            continue;
        }
        let mut meta = item.meta.clone();
        let path: Vec<&str> = walk.ancestors().map(|item| item.name.as_str()).collect();
        meta.insert("path".to_owned(), path.join("|"));
        let line = Line { name: &item.name, status: &item.status, meta: &meta, details: &item.details };
        line.serialize(&mut Serializer::with_formatter(&mut *out, Escaped))?;
        writeln!(out)?;
    }
    Ok(())
}

/// Keeps the last byte, so that the leaf after a file starts on a new line.
struct Ended<'a, W> {
    out: &'a mut W,
    last: Option<u8>,
}

impl<W: Write> Write for Ended<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes.get(..written).and_then(<[u8]>::last) {
            self.last = Some(*last);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// JSON exactly as Sonobuoy writes it, with `<`, `>` and `&` escaped, and with escaped control
/// characters.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let is_special = |before: Option<&str>, c| matches!(c, '<' | '>' | '&') || is_escaped(before, c);
        write_escaped(fragment, is_special, out)
    }
}

/// The health of the cluster in an archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    node_health: Group,
    // The keys in archives are about `nodes` for pods too.
    pod_health: Group,
    api_version: String,
    /// The number of lines with errors, by class of error and file.
    error_summary: BTreeMap<String, BTreeMap<String, u64>>,
    #[serde(skip_serializing_if = "Incomplete::is_empty")]
    incomplete: Incomplete,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Group {
    total_nodes: u64,
    healthy_nodes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Thing>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Thing {
    name: String,
    healthy: bool,
    ready: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
}

/// Why not all nodes or pods are counted. Sonobuoy's archives do not say so.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Incomplete {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<String>,
}

impl Incomplete {
    fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.pods.is_empty()
    }
}

impl Health {
    /// Prints the health as text.
    pub fn report(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "Run Details:")?;
        writeln!(out, "API Server version: {}", name(&self.api_version))?;
        let nodes = &self.node_health;
        count("Node health", nodes, out)?;
        uncounted("Not all nodes are counted:", &self.incomplete.nodes, out)?;
        if unhealthy("Details for failed nodes:", nodes, out)? {
            writeln!(out)?;
        }
        let pods = &self.pod_health;
        if !pods.details.is_empty() {
            count("Pods health", pods, out)?;
        }
        uncounted("Not all pods are counted:", &self.incomplete.pods, out)?;
        unhealthy("Details for failed pods:", pods, out)?;
        if !self.error_summary.is_empty() {
            writeln!(out, "Errors detected in files:")?;
            for (class, files) in &self.error_summary {
                counts(class, files, out)?;
            }
        }
        Ok(())
    }
}

fn count(title: &str, group: &Group, out: &mut impl Write) -> io::Result<()> {
    let (healthy, total) = (group.healthy_nodes, group.total_nodes);
    // The aggregator could not list them.
    if total == 0 {
        return writeln!(out, "{title}: not recorded");
    }
    let percent =
        healthy.saturating_mul(100).checked_div(total).map(|percent| format!(" ({percent}%)")).unwrap_or_default();
    writeln!(out, "{title}: {healthy}/{total}{percent}")
}

/// Lists why nodes or pods are missing from a count.
fn uncounted(title: &str, reasons: &[String], out: &mut impl Write) -> io::Result<()> {
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    reasons.iter().try_for_each(|reason| writeln!(out, "{}", name(reason)))
}

/// Lists unhealthy nodes or pods. Returns whether there are any.
fn unhealthy(title: &str, group: &Group, out: &mut impl Write) -> io::Result<bool> {
    if group.details.is_empty() || group.healthy_nodes >= group.total_nodes {
        return Ok(false);
    }
    writeln!(out, "{title}")?;
    let mut things: Vec<&Thing> = group.details.iter().filter(|thing| !thing.healthy).collect();
    things.sort_by_key(|thing| (&thing.namespace, &thing.name));
    for thing in things {
        let slash = if thing.namespace.is_empty() { "" } else { "/" };
        writeln!(
            out,
            "{}{slash}{} Ready:{}: {}: {}",
            name(&thing.namespace),
            name(&thing.name),
            name(&thing.ready),
            name(&thing.reason),
            name(&thing.message)
        )?;
    }
    Ok(true)
}

fn counts(title: &str, counts: &BTreeMap<String, u64>, out: &mut impl Write) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}:", name(title))?;
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|&(file, n)| (std::cmp::Reverse(*n), file));
    let width = sorted.first().map_or(0, |(_, n)| n.to_string().len());
    for (file, n) in sorted {
        writeln!(out, "{n:>width$} {}", name(file))?;
    }
    Ok(())
}

/// The most items in the list. Further ones are only counted.
const MAX_LISTED: usize = 100;

/// Prints the leaves below `root` that are `unknown`, to follow the summary of a plugin.
pub fn unknown_report(root: &Item, out: &mut impl Write) -> io::Result<()> {
    let (mut leaves, mut count) = (root.leaves(), 0);
    while let Some(leaf) = leaves.next() {
        if worst(&leaf.status) != Some(Status::Unknown) {
            continue;
        }
        count += 1;
        if count == 1 {
            writeln!(out, "\nUnknown:")?;
        }
        if count > MAX_LISTED {
            continue;
        }
        let is_node = |item: &&Item| item.meta.get("type").is_some_and(|kind| kind == "node") && item.name != GLOBAL;
        let node = leaves.walk().ancestors().find(is_node);
        let node = node.map(|node| format!(" ({})", node.name)).unwrap_or_default();
        // The name of a file that could not be read has the reason already.
        let why = reason(&leaf.name, &leaf.details, &leaf.meta).filter(|why| !leaf.name.contains(why.as_str()));
        let why = why.map(|why| format!(": {}", one_line(&why))).unwrap_or_default();
        writeln!(out, "{}{}{why}", name(&leaf.name), name(&node))?;
    }
    match count.saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::testing::{leaf, node, written};

    fn text(root: &Item) -> String {
        written(|out| summary(root, out))
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
    fn failures_are_distinguished_by_class_suite_and_node() {
        let class = |name: &str, class: &str| Item {
            meta: [("classname".to_owned(), class.to_owned())].into(),
            ..leaf(name, "failed")
        };
        let suite = |name: &str, items| Item { items, ..leaf(name, "failed") };
        let items = vec![
            suite("s", vec![class("x", "tests.a"), class("x", "tests.b"), leaf("y", "failed")]),
            suite("t", vec![leaf("y", "passed"), leaf("z", "failed")]),
        ];
        let report = text(&Item { items, ..leaf("p", "failed") });
        assert!(report.ends_with("Failed tests:\nx (tests.a)\nx (tests.b)\ny (s)\nz\n"), "{report}");
        let mut nodes: Vec<Item> =
            (1..=12).map(|n| node(&format!("worker-{n}"), vec![leaf("check 33", "failed")])).collect();
        nodes.push(node("worker-13", vec![leaf("check 33", "passed"), leaf("check 34", "failed")]));
        let report = text(&Item { items: nodes, ..leaf("p", "failed") });
        let want = "check 33: failed on 12 of 13 nodes: worker-1, worker-2, … 10 more\ncheck 34 on worker-13\n";
        assert!(report.contains("Failed: 13\n") && report.ends_with(want), "{report}");
    }

    #[test]
    fn without_failures_there_is_no_list() {
        let root = Item { items: vec![leaf("a", "passed")], ..leaf("p", "passed") };
        assert_eq!(text(&root), "Plugin: p\nStatus: passed\nTotal: 1\nPassed: 1\nFailed: 0\nSkipped: 0\n");
    }

    fn root() -> Item {
        let leaf = |name| leaf(name, "passed");
        let test = Item { details: [("failure".to_owned(), "x".into())].into_iter().collect(), ..leaf("t") };
        let file = Item { meta: [("file".to_owned(), "results\\global\\out0".to_owned())].into(), ..leaf("out0") };
        Item { items: vec![Item { items: vec![test], ..leaf("junit_01.xml") }, file], ..leaf("e2e") }
    }

    #[test]
    fn a_file_that_ends_its_line_gets_no_second_end() {
        let text = written(|out| detailed(&root().items[1], true, out, |_, out| write!(out, "a\nb\n")));
        assert_eq!(text, "a\nb\n");
    }

    #[test]
    fn names_are_escaped_as_scripts_know_it_and_stay_what_they_are() {
        let name = "a => <b> & \"c\" \u{1b}[2J \u{202e}\u{2028}\u{7f} ä";
        let text = written(|out| detailed(&leaf(name, "passed"), false, out, |_, _| Ok(())));
        assert!(
            text.starts_with(
                r#"{"name":"a =\u003e \u003cb\u003e \u0026 \"c\" \u001b[2J \u202e\u2028\u007f ä","status":"passed""#
            ),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["name"], name);
    }

    #[test]
    fn the_path_before_a_file_stays_on_its_line() {
        let mut file = root().items.remove(1);
        file.name = "a\u{1b}[2J\n\u{202e}b".into();
        let text = written(|out| detailed(&file, false, out, |_, out| write!(out, "content")));
        assert_eq!(text, "a\u{fffd}[2J\u{fffd}\u{fffd}b content\n");
    }

    #[test]
    fn leaves_are_lines_of_json_and_files_are_copied() {
        let text =
            |skip_prefix| written(|out| detailed(&root(), skip_prefix, out, |path, out| write!(out, "<{path}>")));
        let test = r#"{"name":"t","status":"passed","meta":{"path":"e2e|junit_01.xml"},"details":{"failure":"x"}}"#;
        assert_eq!(text(false), format!("{test}\ne2e|out0 <results/global/out0>\n"));
        assert_eq!(text(true), format!("{test}\n<results/global/out0>\n"));
    }

    #[test]
    fn nodes_that_were_not_listed_differ_from_no_nodes() {
        let health: Health = serde_json::from_value(json!({
            "node_health": {"total_nodes": 0, "healthy_nodes": 0}, "pod_health": {"total_nodes": 0, "healthy_nodes": 0},
            "api_version": "v1.37.2"
        }))
        .unwrap();
        assert!(written(|out| health.report(out)).ends_with("\nNode health: not recorded\n"));
    }

    #[test]
    fn unhealthy_nodes_and_noisy_files_are_listed() {
        let health: Health = serde_json::from_value(json!({
            "node_health": {"total_nodes": 3, "healthy_nodes": 2, "details": [
                {"name": "n1", "healthy": false, "ready": "False", "reason": "KubeletNotReady", "message": "down"},
                {"name": "n2", "healthy": true}]},
            "pod_health": {"total_nodes": 0, "healthy_nodes": 0},
            "api_version": "v1.20.0",
            "error_summary": {"Errors": {"a.txt": 2, "b.txt": 22}, "Panics": {}}
        }))
        .unwrap();
        assert_eq!(
            written(|out| health.report(out)),
            "Run Details:\nAPI Server version: v1.20.0\nNode health: 2/3 (66%)\nDetails for failed nodes:\n\
             n1 Ready:False: KubeletNotReady: down\n\nErrors detected in files:\nErrors:\n22 b.txt\n 2 a.txt\n"
        );
    }

    #[test]
    fn a_count_says_what_it_does_not_have() {
        let document = serde_json::json!({
            "node_health": {"total_nodes": 1, "healthy_nodes": 1}, "pod_health": {"total_nodes": 0, "healthy_nodes": 0},
            "api_version": "v1", "error_summary": {}, "incomplete": {"nodes": ["no\nanswer"], "pods": ["timeout"]}
        });
        let health: Health = serde_json::from_value(document.clone()).unwrap();
        let mut out = Vec::new();
        health.report(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "Run Details:\nAPI Server version: v1\nNode health: 1/1 (100%)\nNot all nodes are counted:\nno\u{fffd}answer\n\
             Not all pods are counted:\ntimeout\n"
        );
        // A dump has the reasons too.
        assert_eq!(serde_json::to_value(health).unwrap()["incomplete"], document["incomplete"]);
    }

    #[test]
    fn unknown_items_are_listed_with_their_reasons() {
        let root = json!({"name": "p", "status": "unknown", "items": [
            {"name": "lab1", "status": "unknown", "meta": {"type": "node"}, "items": [
                {"name": "quota", "status": "unknown", "details": {"error": "the API server did not answer"}},
                {"name": "time", "status": "passed"},
            ]},
            {"name": "unreadable: the file ends early", "status": "unknown", "meta": {"error": "the file ends early"}},
        ]});
        let root: Item = serde_json::from_value(root).unwrap();
        let text = |root: &Item| written(|out| unknown_report(root, out));
        assert_eq!(
            text(&root),
            "\nUnknown:\nquota (lab1): the API server did not answer\nunreadable: the file ends early\n"
        );
        let many = Item { items: vec![root.items[1].clone(); MAX_LISTED + 2], ..root };
        assert!(text(&many).ends_with("early\nand 2 more\n"));
        let none = Item { items: Vec::new(), status: Status::Passed, ..many };
        assert_eq!(text(&none), "");
    }
}
