//! Compares the report of a profile with the results of its tests.
//!
//! The suite counts a test as passed unless the call that runs it reports a failure. That call also
//! returns without a failure if the test did not match `-test.run`, or if it is parallel and runs
//! after the report was written. So a report can have passed tests that failed or never ran.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{Level, ProfileReport, Statistics};
use crate::results::Ending;
use crate::selection::{LevelWord, Selection};

/// Maximum number of tests to name in a reason.
const NAMED: usize = 10;

/// The tests of one level, as the results have them.
#[derive(Debug, Default)]
struct Counted<'a> {
    passed: u32,
    failed: BTreeSet<&'a str>,
    skipped: BTreeSet<&'a str>,
}

/// Returns what is wrong with the report of a profile.
pub(crate) fn wrong(report: &ProfileReport, selection: &Selection, results: &BTreeMap<String, Ending>) -> Vec<String> {
    let (mut core, mut extended) = (Counted::default(), Counted::default());
    let mut absent = BTreeSet::new();
    for (name, test) in &selection.tests {
        let Some(level) = test.levels.get(&report.name) else { continue };
        let counted = match level {
            LevelWord::Core => &mut core,
            LevelWord::Extended => &mut extended,
        };
        let left_out = !test.supported || (test.provisional && selection.skip_provisional);
        match results.get(name) {
            Some(Ending::Failed) => {
                counted.failed.insert(name);
            }
            Some(Ending::Passed | Ending::Skipped) if left_out => {}
            Some(Ending::Passed) => counted.passed += 1,
            Some(Ending::Skipped) => {
                counted.skipped.insert(name);
            }
            None => {
                absent.insert(name.as_str());
            }
        }
    }
    let mut wrong = Vec::new();
    if !absent.is_empty() {
        wrong.push(format!("{} of its tests have no result: {}", absent.len(), list(&absent)));
    }
    if core.passed == 0 {
        wrong.push("no core test passed".to_owned());
    }
    differences("core", Some(&report.core), &core, &mut wrong);
    differences("extended", report.extended.as_ref(), &extended, &mut wrong);
    wrong
}

/// Adds the differences between the report of a level and the results of its tests.
fn differences(level: &str, report: Option<&Level>, counted: &Counted<'_>, wrong: &mut Vec<String>) {
    let found = counted.statistics();
    let Some(report) = report else {
        if found != Statistics::default() {
            wrong.push(format!("{level}: the report has no results, the tests have {found}"));
        }
        return;
    };
    if report.statistics != found {
        wrong.push(format!("{level}: the report has {}, the tests have {found}", report.statistics));
    }
    let listed =
        [("failed", &report.failed_tests, &counted.failed), ("skipped", &report.skipped_tests, &counted.skipped)];
    for (word, names, expected) in listed {
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let different: BTreeSet<&str> = names.symmetric_difference(expected).copied().collect();
        if !different.is_empty() {
            wrong.push(format!("{level}: report and results have other {word} tests: {}", list(&different)));
        }
    }
    if report.result != report.statistics.result() {
        wrong.push(format!("{level}: the result is `{}`, with {}", report.result, report.statistics));
    }
}

impl Counted<'_> {
    fn statistics(&self) -> Statistics {
        let number = |names: &BTreeSet<&str>| u32::try_from(names.len()).unwrap_or(u32::MAX);
        Statistics { passed: self.passed, failed: number(&self.failed), skipped: number(&self.skipped) }
    }
}

/// Lists names, and how many more there are.
pub(crate) fn list(names: &BTreeSet<&str>) -> String {
    let mut text = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}
