//! The results of the tests, from the finished tree.

use std::collections::BTreeMap;

use plumbline_sdk::{Status, Tree};

/// The test that runs all others.
const ROOT: &str = "TestConformance/";

/// How a test of the suite ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Passed,
    Skipped,
    /// Neither passed nor skipped.
    Failed,
}

/// Reads the tree, and returns the results of the suite's tests by name. If a name occurs several
/// times, the worst result counts. Subtests are left out: they make their test fail.
pub(crate) fn read(tree: Tree) -> Result<BTreeMap<String, Ending>, String> {
    let mut results = BTreeMap::new();
    for judged in tree {
        let judged = judged?;
        let Some(name) = judged.item.name.strip_prefix(ROOT).filter(|name| !name.contains('/')) else { continue };
        let ending = match judged.item.status {
            Some(Status::Passed) => Ending::Passed,
            Some(Status::Skipped) => Ending::Skipped,
            _ => Ending::Failed,
        };
        let known = results.entry(name.to_owned()).or_insert(ending);
        *known = ending.max(*known);
    }
    Ok(results)
}
