//! A result tree as data: its items, and after them what belongs to the tree as a whole.

use plumbline_core::item::seconds;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Status, TestId};
use serde::Serialize;

use crate::causes::{Cause, GroupedTests, TestDocument, groups};
use crate::report::facts::ReportFacts;
use crate::report::nodes::{Distinction, NodeResults, Nodes, TreeNodes};
use crate::report::slowest::{MAX_SLOWEST, Slowest};
use crate::results::ResultTree;
use crate::timeline::Span;
use crate::trees::Position;

/// A tree as data.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    #[serde(flatten)]
    pub(super) item: Named<'a>,
    #[serde(flatten)]
    pub(super) rest: Rest<'a>,
}

/// An item. The root has the name of the archive if there are several.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) archive: Option<&'a str>,
    #[serde(flatten)]
    pub(super) item: &'a Item,
}

/// What the root of a tree has after its items: the verdict over the tree, what belongs to its
/// failures, its slowest leaves, and the facts of the run.
#[derive(Serialize)]
pub(super) struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a PluginVerdict>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<CauseDocument<'a>>,
    #[serde(rename = "cluster-events", skip_serializing_if = "Vec::is_empty")]
    relations: Vec<RelationDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slowest: Vec<SlowDocument>,
    run: &'a RunDocument,
}

#[derive(Serialize)]
struct CauseDocument<'a> {
    #[serde(flatten)]
    cause: &'a Cause,
    tests: Vec<TestDocument>,
}

/// Something that happened in the cluster at the place and time of failures.
#[derive(Serialize)]
struct RelationDocument<'a> {
    #[serde(flatten)]
    span: &'a Span,
    sentence: &'a str,
    tests: Vec<TestDocument>,
}

#[derive(Serialize)]
struct SlowDocument {
    seconds: f64,
    status: Status,
    #[serde(flatten)]
    test: TestDocument,
}

#[derive(Serialize)]
pub(super) struct RunDocument {
    /// The mark for the verdict over all trees.
    pub(super) verdict: String,
    #[serde(flatten)]
    pub(super) facts: ReportFacts,
}

/// A property that distinguishes failed nodes.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct DistinctionDocument<'a> {
    property: &'a str,
    value: &'a str,
    failed_nodes: Share,
    other_nodes: Share,
}

/// How many nodes have a property, and how many there are.
#[derive(Serialize)]
struct Share {
    count: usize,
    of: usize,
}

impl<'a> DistinctionDocument<'a> {
    pub(super) fn new(found: &'a Distinction) -> Self {
        let share = |(count, of)| Share { count, of };
        Self {
            property: &found.key,
            value: &found.value,
            failed_nodes: share(found.failed),
            other_nodes: share(found.others),
        }
    }
}

/// Collects what follows from the items of a tree, which come one by one.
pub(super) struct TreeLists<'a> {
    tree: &'a ResultTree<'a>,
    position: Position,
    /// The failures of each cause, and then of each relation.
    tests: GroupedTests,
    slowest: Slowest<(Status, TestDocument)>,
    nodes: TreeNodes<'a>,
}

impl<'a> TreeLists<'a> {
    pub(super) fn new(tree: &'a ResultTree<'a>) -> Self {
        let mut failures = groups(&tree.causes);
        failures.extend(tree.relations.iter().map(|relation| relation.items.as_slice()));
        Self {
            tree,
            position: Position::default(),
            tests: GroupedTests::new(&failures),
            slowest: Slowest::new(MAX_SLOWEST),
            nodes: TreeNodes::new(tree.verdict.as_ref()),
        }
    }

    /// Adds an item, parents before children, and the facts of its node to `known`. The root has depth 0.
    pub(super) fn item(&mut self, known: &mut Nodes, depth: usize, item: &Item, is_leaf: bool) {
        let number = self.position.advance(depth, item, is_leaf);
        // An item that is not a leaf is now the last one above.
        let above = self.position.above.get(..depth).unwrap_or(&self.position.above);
        self.nodes.item(known, above, item, is_leaf);
        let Some(number) = number else { return };
        self.tests.leaf(number, above, item);
        if let Some(seconds) = seconds(&item.meta).filter(|seconds| *seconds > 0.0) {
            let slow = || (item.status.clone(), TestId::of(above.iter(), item).into());
            self.slowest.add(seconds, slow);
        }
    }

    /// Returns what the root has after its items, and the nodes with results.
    pub(super) fn finish(self, run: &'a RunDocument) -> (Rest<'a>, NodeResults) {
        let (tree, mut tests) = (self.tree, self.tests.finish());
        let of_relations = tests.split_off(tree.causes.len().min(tests.len()));
        let causes = tree.causes.iter().zip(tests).map(|(cause, tests)| CauseDocument { cause, tests });
        let relations = tree.relations.iter().zip(of_relations).map(|(relation, tests)| RelationDocument {
            span: &relation.span,
            sentence: &relation.sentence,
            tests,
        });
        let slow = |(seconds, (status, test))| SlowDocument { seconds, status, test };
        let rest = Rest {
            verdict: tree.verdict.as_ref(),
            causes: causes.collect(),
            relations: relations.collect(),
            slowest: self.slowest.into_leaves().into_iter().map(slow).collect(),
            run,
        };
        (rest, self.nodes.results)
    }
}
