//! Compares the tests of runs, and renders the differences as text, Markdown and HTML.

mod html;
mod matrix;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use plumbline_conformance::lists::is_suite_node;
use plumbline_conformance::submission::cleaned;
use plumbline_core::item::seconds;
use plumbline_core::rollup::{is_failure, meaning, worst};
use plumbline_core::{Item, Status, TestId, reason};
use serde::Serialize;

use crate::report::text::one_line;

pub use html::diff_html;
pub use matrix::{Matrix, MatrixTest, RunColumn, matrix};
pub use views::{diff_markdown, diff_text, matrix_markdown, matrix_text};
pub(crate) use views::{durations_markdown, total_durations};

/// The identity of a test across runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestKey {
    /// The plugin.
    pub plugin: String,
    /// The test, without the prefixes of frameworks.
    pub test: TestId,
}

impl TestKey {
    /// The identity of a leaf of `plugin`.
    pub(crate) fn of(plugin: &str, mut test: TestId) -> Self {
        test.name = cleaned(&test.name).trim().to_owned();
        Self { plugin: plugin.to_owned(), test }
    }
}

/// The names of a test in reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TestNames {
    /// The plugin.
    pub plugin: String,
    /// The node and the suites of the test; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Its class; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub classname: String,
    /// Its name.
    pub name: String,
}

impl From<&TestKey> for TestNames {
    fn from(TestKey { plugin, test }: &TestKey) -> Self {
        let place: Vec<&str> = test.node.iter().chain(&test.suites).map(String::as_str).collect();
        Self {
            plugin: plugin.clone(),
            place: place.join(" | "),
            classname: test.classname.clone(),
            name: test.name.clone(),
        }
    }
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its status.
    pub status: Status,
    /// Its duration in seconds.
    pub seconds: Option<f64>,
    /// The first line of the reason why it failed.
    pub reason: Option<String>,
}

impl Test {
    /// Whether it failed or timed out, as a verdict counts its status.
    pub fn failed(&self) -> bool {
        is_failure(&self.status)
    }

    /// Whether it ran, as far as the status says.
    pub fn ran(&self) -> bool {
        !matches!(meaning(&self.status), Status::Skipped | Status::Unknown | Status::NotRead)
    }

    /// Whether its outcome is unknown.
    pub fn is_unknown(&self) -> bool {
        worst(&self.status) == Some(Status::Unknown)
    }
}

/// The tests with the same key. Reports often have several, such as one for each attempt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SameTests(pub Vec<Test>);

impl SameTests {
    /// Whether at least one of them ran.
    pub fn ran(&self) -> bool {
        self.0.iter().any(Test::ran)
    }
}

/// The tests of a run.
pub type Tests = BTreeMap<TestKey, SameTests>;

/// Adds the tests in the tree of `plugin` to `tests`.
pub fn add(tests: &mut Tests, plugin: &str, root: &Item) {
    each_test(plugin, root, |key, test| tests.entry(key).or_default().0.push(test));
}

/// Passes each leaf of the tree of `plugin`. Setup nodes of the suite are passed only if they failed or
/// are unknown.
pub(crate) fn each_test(plugin: &str, root: &Item, mut pass: impl FnMut(TestKey, Test)) {
    let mut leaves = root.leaves();
    while let Some(leaf) = leaves.next() {
        let mut test = Test { status: leaf.status.clone(), seconds: seconds(&leaf.meta), reason: None };
        if test.failed() {
            test.reason = reason(&leaf.name, &leaf.details, &leaf.meta).map(|reason| one_line(&reason));
        } else if is_suite_node(&leaf.name) && !test.is_unknown() {
            continue;
        }
        pass(TestKey::of(plugin, TestId::of(leaves.walk().ancestors(), leaf)), test);
    }
}

/// What the letters of outcomes mean.
pub(crate) const LEGEND: &str = ". passed, F failed, f failed and passed, - did not run, ? other status";

/// How a test ended in a run, over all of its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It passed in every attempt.
    Passed,
    /// It failed or timed out in every attempt.
    Failed,
    /// It failed in an attempt and passed in another.
    Flaky,
    /// It was skipped.
    Skipped,
    /// Its status says neither that it passed nor that it failed.
    Other,
}

impl Outcome {
    /// The outcome of the attempts of a test.
    pub(crate) fn of(attempts: &[Test]) -> Self {
        let one = |test: &Test| match test.status.meaning() {
            _ if test.failed() => Self::Failed,
            Status::Passed => Self::Passed,
            Status::Skipped => Self::Skipped,
            _ => Self::Other,
        };
        attempts.iter().map(one).reduce(Self::with_attempt).unwrap_or(Self::Other)
    }

    /// The outcome together with that of another attempt.
    pub(crate) fn with_attempt(self, other: Self) -> Self {
        match (self.ran(), other.ran()) {
            (true, true) if self == other => self,
            (true, true) => Self::Flaky,
            (true, false) => self,
            (false, true) => other,
            _ if self == Self::Other => self,
            _ => other,
        }
    }

    /// The outcome of two tests that are shown as one, because nothing distinguishes them.
    pub(crate) fn with_test(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Flaky, _) | (_, Self::Flaky) => Self::Flaky,
            _ => self.with_attempt(other),
        }
    }

    /// Whether the test passed or failed.
    pub fn ran(self) -> bool {
        matches!(self, Self::Passed | Self::Failed | Self::Flaky)
    }

    /// The character for the outcome in a strip of runs.
    pub fn letter(self) -> char {
        match self {
            Self::Passed => '.',
            Self::Failed => 'F',
            Self::Flaky => 'f',
            Self::Skipped => '-',
            Self::Other => '?',
        }
    }
}

/// The plugins whose tests have classes.
pub(crate) fn with_classes<'a>(tests: impl IntoIterator<Item = &'a TestKey>) -> BTreeSet<&'a str> {
    tests.into_iter().filter(|key| !key.test.classname.is_empty()).map(|key| key.plugin.as_str()).collect()
}

/// The tests, with the classes of these plugins only.
fn without_other_classes(tests: &Tests, plugins: &BTreeSet<&str>) -> Tests {
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

/// A test is listed as slower or faster from this factor on.
const GREW_TIMES: f64 = 2.0;

/// A test is listed as slower or faster from this many seconds on.
const GREW_SECONDS: f64 = 10.0;

/// A test that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The test.
    #[serde(flatten)]
    pub test: TestNames,
    /// Its status in the earlier run. `None` if the run does not have it.
    pub before: Option<Status>,
    /// Its status in the later run. `None` if the run does not have it.
    pub after: Option<Status>,
    /// Its seconds in the earlier run.
    #[serde(rename = "seconds-before", skip_serializing_if = "Option::is_none")]
    pub seconds_before: Option<f64>,
    /// Its seconds in the later run.
    #[serde(rename = "seconds-after", skip_serializing_if = "Option::is_none")]
    pub seconds_after: Option<f64>,
    /// The first line of the reason why it failed, of the later run if it failed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The differences between two runs. Keys are only ever added (docs/output.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Difference {
    /// Tests that ran in the earlier run.
    pub ran_before: usize,
    /// Tests that ran in the later run.
    pub ran_after: usize,
    /// Items of the later run whose status is unknown. With such items, the run is incomplete.
    pub unknown_after: usize,
    /// Tests that failed in the later run only.
    pub new_failures: Vec<Change>,
    /// Tests that failed in the earlier run, and ran without a failure in the later one.
    pub fixed: Vec<Change>,
    /// Tests that failed in both runs.
    pub still_failing: Vec<Change>,
    /// Tests that ran in one run only. Tests that failed in their first run are in `new_failures`.
    pub not_run: Vec<Change>,
    /// Tests that took much longer, whatever their status; the largest difference first.
    pub slower: Vec<Change>,
    /// Tests that took much less time, whatever their status; the largest difference first.
    pub faster: Vec<Change>,
    /// The seconds in the earlier run of all tests with a duration in both runs.
    pub seconds_before: f64,
    /// The seconds of these tests in the later run.
    pub seconds_after: f64,
}

/// How a run differs from an earlier one.
#[derive(Debug, Clone)]
pub struct Previous {
    /// The file name of the archive of the earlier run.
    pub archive: String,
    /// The differences.
    pub difference: Difference,
}

/// Compares two runs.
///
/// Archives of Sonobuoy and of earlier versions have no classes. If a plugin has none in one of the
/// runs, its classes in the other are ignored.
pub fn compare(before: &Tests, after: &Tests) -> Difference {
    let (old, new) = (with_classes(before.keys()), with_classes(after.keys()));
    let both: BTreeSet<&str> = old.intersection(&new).copied().collect();
    let (before, after) = (without_other_classes(before, &both), without_other_classes(after, &both));
    let count = |tests: &Tests, counts: fn(&Test) -> bool| {
        tests.values().flat_map(|same| &same.0).filter(|test| counts(test)).count()
    };
    let mut found = Difference {
        ran_before: count(&before, Test::ran),
        ran_after: count(&after, Test::ran),
        unknown_after: count(&after, Test::is_unknown),
        ..Difference::default()
    };
    let none = SameTests::default();
    for (key, old) in &before {
        compare_same(key, old, after.get(key).unwrap_or(&none), &mut found);
    }
    for (key, new) in &after {
        if !before.contains_key(key) {
            compare_same(key, &none, new, &mut found);
        }
    }
    let growth = |change: &Change| change.seconds_after.unwrap_or_default() - change.seconds_before.unwrap_or_default();
    found.slower.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
    found.faster.sort_by(|a, b| growth(a).total_cmp(&growth(b)));
    found
}

/// Compares the tests with the same key as multisets. Tests with the same outcome are paired first,
/// then the worst of the rest.
fn compare_same(key: &TestKey, before: &SameTests, after: &SameTests, found: &mut Difference) {
    let ([mut old, mut new], mut rest) = ([by_outcome(before), by_outcome(after)], (Vec::new(), Vec::new()));
    for (old, new) in old.iter_mut().zip(&mut new) {
        let pairs = old.len().min(new.len());
        rest.0.extend(old.split_off(pairs));
        rest.1.extend(new.split_off(pairs));
        old.iter().zip(new.iter()).for_each(|(old, new)| sort_in(key, Some(*old), Some(*new), found));
    }
    let (mut old, mut new) = (rest.0.into_iter(), rest.1.into_iter());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return,
            // One failure fewer, of a test that ran.
            (Some(old), None) if old.failed() && after.ran() => found.fixed.push(change(key, Some(old), None)),
            (old, new) => sort_in(key, old, new, found),
        }
    }
}

/// The tests that failed, that ran without a failure, and that did not run, each by duration,
/// the slowest first.
fn by_outcome(same: &SameTests) -> [Vec<&Test>; 3] {
    let mut sorted: [Vec<&Test>; 3] = Default::default();
    let [failed, ran, others] = &mut sorted;
    for test in &same.0 {
        match (test.failed(), test.ran()) {
            (true, _) => failed.push(test),
            (_, true) => ran.push(test),
            _ => others.push(test),
        }
    }
    for tests in &mut sorted {
        tests.sort_by(|a, b| b.seconds.unwrap_or_default().total_cmp(&a.seconds.unwrap_or_default()));
    }
    sorted
}

fn sort_in(key: &TestKey, before: Option<&Test>, after: Option<&Test>, found: &mut Difference) {
    let failed = |test: Option<&Test>| test.is_some_and(Test::failed);
    let ran = |test: Option<&Test>| test.is_some_and(Test::ran);
    let list = match (failed(before), failed(after)) {
        (false, true) => Some(&mut found.new_failures),
        (true, true) => Some(&mut found.still_failing),
        (true, false) if ran(after) => Some(&mut found.fixed),
        _ if ran(before) != ran(after) => Some(&mut found.not_run),
        _ => None,
    };
    if let Some(list) = list {
        list.push(change(key, before, after));
    }
    let seconds = |test: Option<&Test>| test.and_then(|test| test.seconds);
    let Some((old, new)) = seconds(before).zip(seconds(after)) else { return };
    found.seconds_before += old;
    found.seconds_after += new;
    let is_longer = |long: f64, short: f64| long >= short * GREW_TIMES && long - short >= GREW_SECONDS;
    if is_longer(new, old) {
        found.slower.push(change(key, before, after));
    } else if is_longer(old, new) {
        found.faster.push(change(key, before, after));
    }
}

fn change(key: &TestKey, before: Option<&Test>, after: Option<&Test>) -> Change {
    let reason = |test: Option<&Test>| test.and_then(|test| test.reason.clone());
    Change {
        test: key.into(),
        before: before.map(|test| test.status.clone()),
        after: after.map(|test| test.status.clone()),
        seconds_before: before.and_then(|test| test.seconds),
        seconds_after: after.and_then(|test| test.seconds),
        reason: reason(after).or_else(|| reason(before)),
    }
}

#[cfg(test)]
mod tests;
