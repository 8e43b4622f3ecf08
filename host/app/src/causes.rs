//! Causes of failures: groups the failed leaves of a tree with a module (docs/causes.md).

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use plumbline_aggregator::{CauseError, CauseFinder, failed_leaf};
use plumbline_core::rollup::is_failure;
use plumbline_core::{GLOBAL, Item, TestId};
use plumbline_sandbox::{Entry, PluginInfo};
use serde::Serialize;

use crate::trees::Position;

/// Failures with the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The id, which is the same in every run. Lists of known failures refer to it.
    pub id: String,
    /// What the failures have in common, with `<*>` for what varies.
    pub template: String,
    /// The number of failures.
    pub count: usize,
    /// The numbers of the failures among [`Item::leaves`] of the tree, from 0.
    #[serde(skip)]
    pub items: Vec<usize>,
}

/// The failed leaves of a tree whose items come one by one. They are in a temporary file, so that
/// memory does not grow with their texts.
pub(crate) struct Failures {
    file: BufWriter<File>,
    /// The numbers of the failed leaves.
    numbers: Vec<usize>,
    position: Position,
}

impl Failures {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), numbers: Vec::new(), position: Position::default() })
    }

    /// Adds an item, parents before children. The root has depth 0.
    pub(crate) fn item(&mut self, depth: usize, item: &Item, is_leaf: bool) -> io::Result<()> {
        let number = self.position.advance(depth, item, is_leaf);
        if let Some(number) = number.filter(|_| is_failure(&item.status)) {
            let set = TestId::of(self.position.above.iter(), item).node;
            let set = set.as_deref().unwrap_or(GLOBAL);
            let leaf = failed_leaf(set, &item.name, &item.status, &item.meta, &item.details);
            serde_json::to_writer(&mut self.file, &(leaf.set, leaf.item))?;
            self.file.write_all(b"\n")?;
            self.numbers.push(number);
        }
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

/// Returns the numbers of the failures of each cause.
pub(crate) fn groups(causes: &[Cause]) -> Vec<&[usize]> {
    causes.iter().map(|cause| cause.items.as_slice()).collect()
}

/// A test as data.
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

impl From<TestId> for TestDocument {
    fn from(TestId { node, suites, classname, name }: TestId) -> Self {
        Self { name, node, suites, classname }
    }
}

/// Collects the failures of groups in a tree whose leaves come one by one. A group has the numbers of
/// leaves, and a leaf may be in several groups.
pub(crate) struct GroupedTests {
    by_leaf: HashMap<usize, Vec<usize>>,
    tests: Vec<Vec<TestDocument>>,
}

impl GroupedTests {
    pub(crate) fn new(groups: &[&[usize]]) -> Self {
        let tests = groups.iter().map(|_| Vec::new()).collect();
        Self { by_leaf: by_leaf(groups), tests }
    }

    /// Adds the leaf with this number. `above` are the items above it, the root first.
    pub(crate) fn leaf(&mut self, number: usize, above: &[Item], leaf: &Item) {
        for at in self.by_leaf.get(&number).into_iter().flatten() {
            if let Some(tests) = self.tests.get_mut(*at) {
                tests.push(TestId::of(above.iter(), leaf).into());
            }
        }
    }

    /// Returns the failures of each group.
    pub(crate) fn finish(self) -> Vec<Vec<TestDocument>> {
        self.tests
    }
}

/// Returns the groups of each leaf that is in one.
pub(crate) fn by_leaf(groups: &[&[usize]]) -> HashMap<usize, Vec<usize>> {
    let mut by_leaf: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        group.iter().for_each(|number| by_leaf.entry(*number).or_default().push(at));
    }
    by_leaf
}
