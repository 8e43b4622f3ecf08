//! Causes of failures: groups the failed leaves of a tree with a module (docs/causes.md).

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use plumbline_aggregator::{CauseError, CauseFinder, failed_leaf};
use plumbline_core::rollup::is_failure;
use plumbline_core::{GLOBAL, Item, TestId};
use plumbline_sandbox::{Entry, PluginInfo};
use serde::Serialize;

use crate::trees::bare;

/// Failures with the same cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The id, which is the same in every run. Lists of known failures refer to it.
    pub id: String,
    /// What the failures have in common, with `<*>` for what varies.
    pub template: String,
    /// The number of failures.
    pub count: usize,
    /// The numbers of the failures among [`Item::leaves`] of the tree, from 0.
    pub items: Vec<usize>,
}

/// Finds the causes of the failures in the tree below `root`, most frequent first. A failure has at
/// most one cause.
pub fn of(root: &Item, plugin: &str, finder: &CauseFinder) -> Result<Vec<Cause>, CauseError> {
    let mut failures = Failures::new()?;
    let mut walk = root.walk();
    while let Some(item) = walk.next() {
        failures.item(walk.depth(), item, item.is_leaf())?;
    }
    failures.causes(plugin, finder)
}

/// The failed leaves of a tree whose items come one by one. They are in a temporary file, so that
/// memory does not grow with their texts.
pub(crate) struct Failures {
    file: BufWriter<File>,
    /// The numbers of the failed leaves.
    numbers: Vec<usize>,
    /// The number of the next leaf.
    next: usize,
    /// The items above the current one, the root first.
    above: Vec<Item>,
}

impl Failures {
    pub(crate) fn new() -> io::Result<Self> {
        let file = BufWriter::new(tempfile::tempfile()?);
        Ok(Self { file, numbers: Vec::new(), next: 0, above: Vec::new() })
    }

    /// Adds an item, parents before children. The root has depth 0.
    pub(crate) fn item(&mut self, depth: usize, item: &Item, is_leaf: bool) -> io::Result<()> {
        self.above.truncate(depth);
        if !is_leaf {
            self.above.push(Item { details: serde_json::Map::new(), ..bare(item) });
            return Ok(());
        }
        if is_failure(&item.status) {
            let set = TestId::of(self.above.iter(), item).node;
            let set = set.as_deref().unwrap_or(GLOBAL);
            let leaf = failed_leaf(set, &item.name, &item.status, &item.meta, &item.details);
            serde_json::to_writer(&mut self.file, &(leaf.set, leaf.item))?;
            self.file.write_all(b"\n")?;
            self.numbers.push(self.next);
        }
        self.next += 1;
        Ok(())
    }

    /// Finds the causes, most frequent first.
    pub(crate) fn causes(self, plugin: &str, finder: &CauseFinder) -> Result<Vec<Cause>, CauseError> {
        if self.numbers.is_empty() {
            return Ok(Vec::new());
        }
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let entries = BufReader::new(file).lines().map(|line| {
            let (set, item) = serde_json::from_str(&line?)?;
            Ok(Entry { set, item })
        });
        let info = PluginInfo { name: plugin.to_owned(), ..PluginInfo::default() };
        let groups = finder.find(&info, entries)?;
        let mut causes = Vec::new();
        let mut free: BTreeMap<usize, usize> = self.numbers.into_iter().enumerate().collect();
        for group in groups {
            let mut items: Vec<usize> = group.failures.iter().filter_map(|failure| free.remove(failure)).collect();
            items.sort_unstable();
            if !items.is_empty() {
                causes.push(Cause { id: group.id, template: group.template, count: items.len(), items });
            }
        }
        causes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.items.first().cmp(&b.items.first())));
        Ok(causes)
    }
}

/// A cause as data.
#[derive(Debug, Serialize)]
pub(crate) struct CauseDocument {
    id: String,
    template: String,
    count: usize,
    tests: Vec<TestDocument>,
}

/// A failed test as data.
#[derive(Debug, Serialize)]
pub(crate) struct TestDocument {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suites: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    classname: String,
}

/// Returns `causes` as data, each with its failures.
pub(crate) fn documents(causes: &[Cause], tests: Vec<Vec<TestDocument>>) -> Vec<CauseDocument> {
    let document = |(cause, tests): (&Cause, _)| CauseDocument {
        id: cause.id.clone(),
        template: cause.template.clone(),
        count: cause.count,
        tests,
    };
    causes.iter().zip(tests).map(document).collect()
}

/// Returns the numbers of the failures of each cause.
pub(crate) fn groups(causes: &[Cause]) -> Vec<&[usize]> {
    causes.iter().map(|cause| cause.items.as_slice()).collect()
}

/// Returns the failures of each group as data. A group has the numbers of leaves, and a leaf may be
/// in several groups.
pub(crate) fn test_documents(root: &Item, groups: &[&[usize]]) -> Vec<Vec<TestDocument>> {
    let mut tests = GroupedTests::new(groups);
    let mut walk = root.walk();
    while let Some(item) = walk.next() {
        tests.item(walk.depth(), item, item.is_leaf());
    }
    tests.finish()
}

/// Collects the failures of groups in a tree whose items come one by one.
pub(crate) struct GroupedTests {
    by_leaf: HashMap<usize, Vec<usize>>,
    tests: Vec<Vec<TestDocument>>,
    /// The number of the next leaf.
    next: usize,
    /// The items above the current one, the root first.
    above: Vec<Item>,
}

impl GroupedTests {
    pub(crate) fn new(groups: &[&[usize]]) -> Self {
        let tests = groups.iter().map(|_| Vec::new()).collect();
        Self { by_leaf: by_leaf(groups), tests, next: 0, above: Vec::new() }
    }

    /// Adds an item, parents before children. The root has depth 0.
    pub(crate) fn item(&mut self, depth: usize, item: &Item, is_leaf: bool) {
        self.above.truncate(depth);
        if !is_leaf {
            self.above.push(Item { details: serde_json::Map::new(), ..bare(item) });
            return;
        }
        for at in self.by_leaf.get(&self.next).into_iter().flatten() {
            if let Some(tests) = self.tests.get_mut(*at) {
                let TestId { node, suites, classname, name } = TestId::of(self.above.iter(), item);
                tests.push(TestDocument { name, node, suites, classname });
            }
        }
        self.next += 1;
    }

    /// Returns the failures of each group.
    pub(crate) fn finish(self) -> Vec<Vec<TestDocument>> {
        self.tests
    }
}

/// Returns the groups of each leaf that is in one.
fn by_leaf(groups: &[&[usize]]) -> HashMap<usize, Vec<usize>> {
    let mut by_leaf: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        group.iter().for_each(|number| by_leaf.entry(*number).or_default().push(at));
    }
    by_leaf
}

/// Calls `each` for each failure in a group, in the order of the tree, with the position of the
/// group. A group has the numbers of leaves, and a leaf may be in several groups.
pub(crate) fn for_each_failure<'a>(root: &'a Item, groups: &[&[usize]], mut each: impl FnMut(usize, TestId, &'a Item)) {
    let by_leaf = by_leaf(groups);
    for_each_leaf(root, |number, id, leaf| {
        for at in by_leaf.get(&number).into_iter().flatten() {
            each(*at, id(), leaf);
        }
    });
}

fn for_each_leaf<'a>(root: &'a Item, mut each: impl FnMut(usize, &dyn Fn() -> TestId, &'a Item)) {
    let mut leaves = root.leaves();
    let mut number = 0;
    while let Some(leaf) = leaves.next() {
        each(number, &|| TestId::of(leaves.walk().ancestors(), leaf), leaf);
        number += 1;
    }
}
