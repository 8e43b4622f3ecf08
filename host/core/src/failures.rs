//! Failed tests: their identity, their reason in one line, and groups over nodes.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use crate::item::{Item, Meta};
use crate::text::first_chars;

/// The maximum number of nodes that an entry lists.
pub const MAX_NODES: usize = 20;

/// The key of [`Item::meta`] for the class of a test, which distinguishes tests of the same name
/// and suite.
pub const CLASSNAME: &str = "classname";

/// The maximum length of a reason in characters.
const MAX_REASON: usize = 400;

/// The maximum number of lines to join if the first one only introduces the others.
const MAX_LINES: usize = 8;

/// The details that contain the reason of a failure.
const DETAILS: [&str; 2] = ["failure", "error"];

/// A test that failed on one or more nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailedTest<T> {
    /// The identity of the test, with the first node on which it failed.
    pub id: TestId,
    /// The first [`MAX_NODES`] nodes on which the test failed, in the order of the tree.
    pub nodes: Vec<String>,
    /// The number of nodes on which the test failed.
    pub failed_nodes: u64,
    /// Data of the caller.
    pub data: T,
    last_node: Option<String>,
}

/// Collects failures in the order of the tree.
#[derive(Debug, Clone)]
pub struct FailedTests<T> {
    tests: Vec<FailedTest<T>>,
    by_name: HashMap<String, Vec<usize>>,
    most: usize,
}

impl<T: Default> FailedTests<T> {
    /// Creates a collection of at most `most` different tests. Further tests are dropped.
    pub fn new(most: usize) -> Self {
        Self { tests: Vec::new(), by_name: HashMap::new(), most }
    }

    /// Counts a failure and returns the entry of its test, or `None` if there is no room for
    /// another test.
    ///
    /// Failures with the same identity on one node remain separate entries, since they may be
    /// different tests.
    pub fn entry(&mut self, id: TestId) -> Option<&mut FailedTest<T>> {
        let known = self.find(&id, |test| test.last_node != id.node);
        let at = match known {
            Some(at) => at,
            None if self.tests.len() >= self.most => return None,
            None => {
                let at = self.tests.len();
                self.by_name.entry(id.name.clone()).or_default().push(at);
                let id = id.clone();
                let data = T::default();
                self.tests.push(FailedTest { id, nodes: Vec::new(), failed_nodes: 0, data, last_node: None });
                at
            }
        };
        let test = self.tests.get_mut(at)?;
        if let Some(node) = id.node {
            test.failed_nodes = test.failed_nodes.saturating_add(1);
            if test.nodes.len() < MAX_NODES {
                test.nodes.push(node.clone());
            }
            test.last_node = Some(node);
        }
        Some(test)
    }

    /// Appends failures from nodes that come after those seen so far. `merge` combines the data of
    /// the caller.
    pub fn append(&mut self, other: Self, mut merge: impl FnMut(&mut T, T)) {
        for test in other.tests {
            let known = self.find(&test.id, |known| {
                !known.nodes.iter().any(|node| test.nodes.contains(node))
                    && known.last_node.as_ref() != test.nodes.first()
            });
            let room = self.tests.len() < self.most;
            match known.and_then(|at| self.tests.get_mut(at)) {
                Some(known) => {
                    let room = MAX_NODES.saturating_sub(known.nodes.len());
                    known.nodes.extend(test.nodes.into_iter().take(room));
                    known.failed_nodes = known.failed_nodes.saturating_add(test.failed_nodes);
                    known.last_node = test.last_node;
                    merge(&mut known.data, test.data);
                }
                None if room => {
                    self.by_name.entry(test.id.name.clone()).or_default().push(self.tests.len());
                    self.tests.push(test);
                }
                None => {}
            }
        }
    }

    /// Returns the first entry of the same test on another node.
    fn find(&self, id: &TestId, on_other_nodes: impl Fn(&FailedTest<T>) -> bool) -> Option<usize> {
        let mut found = self.by_name.get(&id.name).filter(|_| id.node.is_some())?.iter().copied();
        found.find(|at| self.tests.get(*at).is_some_and(|test| test.id.same_test(id) && on_other_nodes(test)))
    }

    /// Returns the tests, in the order of their first failures.
    pub fn into_tests(self) -> Vec<FailedTest<T>> {
        self.tests
    }
}

/// Returns the number of nodes with results in the tree below `root`.
pub fn nodes_in(root: &Item) -> u64 {
    let nodes = root.items.iter().filter(|item| Level::of(&item.meta) == Level::Node);
    let names: BTreeSet<&str> = nodes.map(|node| node.name.as_str()).collect();
    names.len() as u64
}

/// The identity of a test, which is the same in each run and, apart from `node`, on each node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TestId {
    /// The name of the node, for results per node.
    pub node: Option<String>,
    /// The suites around the test, outermost first. Files are not included, because tools name them
    /// differently from run to run.
    pub suites: Vec<String>,
    /// The class, empty if there is none.
    pub classname: String,
    /// The name of the test.
    pub name: String,
}

impl TestId {
    /// Returns the identity of `leaf`. `ancestors` starts with the plugin's root.
    pub fn of<'a>(ancestors: impl Iterator<Item = &'a Item>, leaf: &Item) -> Self {
        let mut id = Self {
            classname: leaf.meta.get(CLASSNAME).cloned().unwrap_or_default(),
            name: leaf.name.clone(),
            ..Self::default()
        };
        for item in ancestors.skip(1) {
            match Level::of(&item.meta) {
                Level::Node => id.node = Some(item.name.clone()),
                Level::File => {}
                Level::Suite => id.suites.push(item.name.clone()),
            }
        }
        id
    }

    /// Returns the suites as one line.
    pub fn place(&self) -> String {
        self.suites.join(" › ")
    }

    /// Returns whether both are the same test, possibly on different nodes.
    pub fn same_test(&self, other: &Self) -> bool {
        self.name == other.name && self.classname == other.classname && self.suites == other.suites
    }
}

/// What an item with children represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// A node of the cluster.
    Node,
    /// A result file.
    File,
    /// A test suite, or any other group.
    #[default]
    Suite,
}

impl Level {
    /// Returns what an item with this metadata represents.
    pub fn of(meta: &Meta) -> Self {
        match meta.get("type").map(String::as_str) {
            Some("node") => Self::Node,
            Some("file") => Self::File,
            _ => Self::Suite,
        }
    }
}

/// Returns the first line that explains why an item failed, cut to 400 characters. `None` means
/// that nothing says more than the name.
///
/// Formats put the reason in the details `failure` or `error`, or their messages. The host puts it
/// in the metadata key `error`. Source locations, markers of test runners and repetitions of the
/// name are skipped. The last line of the detail `output` is the fallback.
pub fn reason(name: &str, details: &Map<String, Value>, meta: &Meta) -> Option<String> {
    let messages = DETAILS.iter().flat_map(|key| {
        let (message, body) = message_and_body(key, details);
        message.into_iter().chain(body)
    });
    let mut texts = messages.chain(meta.get("error").map(String::as_str));
    texts.find_map(|text| first_reason(name, text)).or_else(|| {
        let last = details.get("output")?.as_str()?.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(first_chars(last, MAX_REASON).to_owned())
    })
}

/// Returns the message and the body of a failure. The body is the item's detail `key`, without the
/// message if it starts with it.
pub fn message_and_body<'a>(key: &str, details: &'a Map<String, Value>) -> (Option<&'a str>, Option<&'a str>) {
    let text = |key: &str| details.get(key).and_then(Value::as_str);
    let message = text(&format!("{key}-message"));
    let body = text(key)
        .map(|body| message.and_then(|message| body.strip_prefix(message)).unwrap_or(body).trim_start_matches(' '));
    (message, body)
}

/// Returns the first informative line of `text`, together with the lines that it introduces, cut to
/// 400 characters. `None` means that no line says more than the name of the test.
pub fn first_reason(name: &str, text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_place(line) && !is_marker(line));
    let first = lines.find(|line| *line != name && !is_empty_word(line))?;
    if !first.ends_with(':') && first != "Expected" {
        return Some(first_chars(first, MAX_REASON).to_owned());
    }
    let joined: Vec<&str> = std::iter::once(first).chain(lines.take(MAX_LINES)).collect();
    Some(first_chars(&joined.join(" "), MAX_REASON).to_owned())
}

/// Returns whether the line is only a source location, such as `/src/framework.go:630`, `In [It]
/// at: /src/job.go:90 @ 06/30/26` or `thread 'tests::a' (7) panicked at src/lib.rs:4:24:`.
fn is_place(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("In [") {
        return rest.contains("] at: ");
    }
    let panicked = line.strip_prefix("thread '").and_then(|rest| rest.split_once(" panicked at "));
    let mut words = panicked.map_or(line, |(_, place)| place).split_whitespace();
    let Some(word) = words.next() else { return false };
    // Go stack traces add an offset.
    if words.any(|word| !word.starts_with("+0x")) {
        return false;
    }
    let word = word.trim_end_matches([':', ',']);
    let Some((path, number)) = word.rsplit_once(':') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A column may follow the line number.
    let path = path.rsplit_once(':').filter(|(_, line)| digits(line)).map_or(path, |(path, _)| path);
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    digits(number) && (file.contains('.') && !file.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns whether a test runner prints the line to mark the start or end of a test.
fn is_marker(line: &str) -> bool {
    ["=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- FAIL"].iter().any(|marker| line.starts_with(marker))
}

fn is_empty_word(line: &str) -> bool {
    ["failed", "failure", "error", "test failed"]
        .iter()
        .any(|word| line.trim_end_matches('.').eq_ignore_ascii_case(word))
}

#[cfg(test)]
#[path = "failures_tests.rs"]
mod tests;
