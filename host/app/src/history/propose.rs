//! Lists for judges, made from a history: known failures and flaky tests (docs/judges.md).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::history::model::{HistoryReport, TestHistory};
use crate::history::text::{day, share};

/// The fewest runs with a flake of a test that is listed as flaky. One may be an outage.
const MIN_FLAKES: u64 = 2;

/// From this many failures in a row on, a test is broken and not flaky.
const BROKEN: u64 = 2;

/// The tests that failed in each of the last `runs` runs in which they ran. Of a shorter history, all
/// runs count. Lists have only names, so a test must have failed on every cluster and node on which
/// it ran.
pub fn known_failures(report: &HistoryReport, runs: u64) -> Vec<&TestHistory> {
    let is_known = |test: &&TestHistory| {
        let enough = runs.min(test.outcomes.len() as u64).max(1);
        test.streak.failing && test.streak.runs >= enough
    };
    let others = affected(report.tests.iter().filter(|test| !is_known(test)));
    report.tests.iter().filter(is_known).filter(|test| !others.contains(&test.list_name())).collect()
}

/// The tests with at least two flakes that do not fail twice in a row now, on any cluster or node. A
/// test without a class is not listed if one of its name with a class has fewer flakes.
pub fn flaky_tests(report: &HistoryReport) -> Vec<&TestHistory> {
    let is_broken = |test: &&TestHistory| test.streak.failing && test.streak.runs >= BROKEN;
    let is_steady = |test: &&TestHistory| !test.test.classname.is_empty() && test.flakes < MIN_FLAKES;
    let mut others = affected(report.tests.iter().filter(is_broken));
    others.extend(report.tests.iter().filter(is_steady).map(|test| test.test.name.clone()));
    let is_flaky = |test: &&TestHistory| test.flakes >= MIN_FLAKES && !others.contains(&test.list_name());
    report.tests.iter().filter(is_flaky).collect()
}

/// The names in lists that apply to one of `tests`. A name without a class applies to the tests of all
/// classes.
fn affected<'a>(tests: impl Iterator<Item = &'a TestHistory>) -> BTreeSet<String> {
    tests.flat_map(|test| [test.list_name(), test.test.name.clone()]).collect()
}

impl TestHistory {
    /// The name in lists of judges, with the class if there is one.
    pub fn list_name(&self) -> String {
        self.test.with_class()
    }

    /// Why the test is a known failure.
    fn known_reason(&self) -> String {
        let first = self.first_bad.as_deref().unwrap_or_default();
        format!("failed in the last {} runs, since {} ({first})", self.streak.runs, day(self.streak.since))
    }

    /// How often the test was flaky.
    fn flaky_reason(&self) -> String {
        format!("flaky in {} runs", share(self.flakes, self.ran))
    }
}

/// A list of known failures in the format of docs/judges.md. `source` is where the history comes
/// from.
pub fn known_failures_list(tests: &[&TestHistory], source: &str) -> String {
    list(tests, source, TestHistory::known_reason)
}

/// A list of flaky tests in the format of docs/judges.md, with the measured rates.
pub(crate) fn flaky_list(tests: &[&TestHistory], source: &str) -> String {
    list(tests, source, TestHistory::flaky_reason)
}

fn list(tests: &[&TestHistory], source: &str, reason: impl Fn(&TestHistory) -> String) -> String {
    // Texts in JSON are texts in YAML, whatever is in them.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut out = String::new();
    let mut names = BTreeSet::new();
    for test in tests {
        let name = test.list_name();
        // A list knows neither nodes nor clusters.
        if names.contains(&name) {
            continue;
        }
        // Writing to a text does not fail.
        let _ = writeln!(out, "- test: {}", quoted(&name));
        let _ = writeln!(out, "  reason: {}", quoted(&reason(test)));
        let _ = writeln!(out, "  source: {}", quoted(source));
        names.insert(name);
    }
    if out.is_empty() { "[]\n".to_owned() } else { out }
}
