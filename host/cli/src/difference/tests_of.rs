//! The tests of a run, by identities that stay the same from run to run.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_conformance::lists::is_suite_node;
use plumbline_conformance::submission::cleaned;
use plumbline_core::{Item, Status, TestId, reason};

use crate::output::{one_line, seconds_of};

/// The identity of a test across runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The plugin.
    pub(crate) plugin: String,
    /// The test, without what frameworks put before its name.
    pub(crate) test: TestId,
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Test {
    /// Its status.
    pub(crate) status: Status,
    /// How long it took.
    pub(crate) seconds: Option<f64>,
    /// The first line of why it failed.
    pub(crate) reason: Option<String>,
}

impl Test {
    /// Whether it failed or timed out.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.status, Status::Failed | Status::Timeout)
    }

    /// Whether it ran, as far as is known.
    pub(crate) fn ran(&self) -> bool {
        !matches!(self.status, Status::Skipped | Status::Unknown | Status::NotRead)
    }
}

/// The tests of one identity. Reports often have several, such as one for each attempt.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SameTests(pub(crate) Vec<Test>);

impl SameTests {
    /// Whether any of them ran.
    pub(crate) fn ran(&self) -> bool {
        self.0.iter().any(Test::ran)
    }
}

/// The tests of a run.
pub(crate) type Tests = BTreeMap<Key, SameTests>;

/// Adds the leaves of `plugin`'s tree. Setup nodes of the suite count only if they failed.
pub(crate) fn add(tests: &mut Tests, plugin: &str, root: &Item) {
    let mut leaves = root.leaves();
    while let Some(leaf) = leaves.next() {
        let mut test = Test { status: leaf.status.clone(), seconds: seconds_of(leaf), reason: None };
        if test.failed() {
            test.reason = reason(&leaf.name, &leaf.details, &leaf.meta).map(|reason| one_line(&reason));
        } else if is_suite_node(&leaf.name) {
            continue;
        }
        let mut id = TestId::of(leaves.walk().ancestors(), leaf);
        id.name = cleaned(&leaf.name).trim().to_owned();
        tests.entry(Key { plugin: plugin.to_owned(), test: id }).or_default().0.push(test);
    }
}

/// The plugins whose tests have classes.
pub(crate) fn with_classes(tests: &Tests) -> BTreeSet<&str> {
    tests.keys().filter(|key| !key.test.classname.is_empty()).map(|key| key.plugin.as_str()).collect()
}

/// The tests with the classes of these plugins only.
pub(crate) fn without_other_classes(tests: &Tests, plugins: &BTreeSet<&str>) -> Tests {
    let mut kept = Tests::new();
    for (key, same) in tests {
        let mut key = key.clone();
        if !plugins.contains(key.plugin.as_str()) {
            key.test.classname.clear();
        }
        kept.entry(key).or_default().0.extend(same.0.iter().cloned());
    }
    kept
}
