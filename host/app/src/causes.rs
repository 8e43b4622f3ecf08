//! Causes of failures: groups the failed leaves of a tree with a module (docs/causes.md).

use std::collections::{BTreeMap, HashMap};

use plumbline_aggregator::{CauseError, CauseFinder, failed_leaf, is_failure};
use plumbline_core::{GLOBAL, Item, TestId};
use plumbline_sandbox::PluginInfo;
use serde::Serialize;

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
    let (mut failures, mut numbers) = (Vec::new(), Vec::new());
    for_each_leaf(root, |number, id, leaf| {
        if is_failure(Some(&leaf.status)) {
            let set = id().node;
            let set = set.as_deref().unwrap_or(GLOBAL);
            failures.push(Ok(failed_leaf(set, &leaf.name, &leaf.status, &leaf.meta, &leaf.details)));
            numbers.push(number);
        }
    });
    if failures.is_empty() {
        return Ok(Vec::new());
    }
    let info = PluginInfo { name: plugin.to_owned(), ..PluginInfo::default() };
    let groups = finder.find(&info, failures.into_iter())?;
    let mut causes = Vec::new();
    let mut free: BTreeMap<usize, usize> = numbers.into_iter().enumerate().collect();
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

/// A cause as data.
#[derive(Debug, Serialize)]
pub(crate) struct CauseDocument {
    id: String,
    template: String,
    count: usize,
    tests: Vec<TestDocument>,
}

#[derive(Debug, Serialize)]
struct TestDocument {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suites: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    classname: String,
}

/// Returns `causes` of the tree below `root` as data.
pub(crate) fn documents(root: &Item, causes: &[Cause]) -> Vec<CauseDocument> {
    let mut tests: Vec<Vec<TestDocument>> = causes.iter().map(|_| Vec::new()).collect();
    for_each_failure(root, causes, |at, TestId { node, suites, classname, name }, _| {
        if let Some(tests) = tests.get_mut(at) {
            tests.push(TestDocument { name, node, suites, classname });
        }
    });
    let document = |(cause, tests): (&Cause, _)| CauseDocument {
        id: cause.id.clone(),
        template: cause.template.clone(),
        count: cause.count,
        tests,
    };
    causes.iter().zip(tests).map(document).collect()
}

/// Calls `each` for each failure with a cause, in the order of the tree, with the position of the
/// cause in `causes`.
pub(crate) fn for_each_failure<'a>(root: &'a Item, causes: &[Cause], mut each: impl FnMut(usize, TestId, &'a Item)) {
    let of_cause =
        |(at, cause): (usize, &Cause)| cause.items.iter().map(move |number| (*number, at)).collect::<Vec<_>>();
    let by_leaf: HashMap<usize, usize> = causes.iter().enumerate().flat_map(of_cause).collect();
    for_each_leaf(root, |number, id, leaf| {
        if let Some(at) = by_leaf.get(&number) {
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
