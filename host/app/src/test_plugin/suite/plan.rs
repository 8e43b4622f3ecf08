//! Decides the outcome of every test before any test runs.

use std::collections::BTreeSet;
use std::time::Duration;

use plumbline_conformance::lists::{alternatives, is_suite_node, plain_name};
use plumbline_core::go_quote;

use super::settings::Settings;

/// The setup nodes that the suite reports.
const NODES: [&str; 4] = [
    "[ReportBeforeSuite]",
    "[SynchronizedBeforeSuite]",
    "[SynchronizedAfterSuite]",
    "[ReportAfterSuite] Kubernetes e2e suite report",
];
/// The prefix of the names of nodes that write reports.
const REPORT: &str = "[Report";

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Skipped,
    Passed,
    Failed,
}

/// A test with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// The name.
    pub(super) name: String,
    /// Whether it is a setup node, which is not counted and not in the log.
    pub(super) node: bool,
    pub(super) fate: Fate,
    /// The duration.
    pub(super) time: Duration,
}

/// The number of tests with each outcome, without setup nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) skipped: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Counts {
    pub(super) fn selected(self) -> usize {
        self.passed + self.failed
    }

    pub(super) fn total(self) -> usize {
        self.selected() + self.skipped
    }

    pub(super) fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Skipped => self.skipped += 1,
            Fate::Passed => self.passed += 1,
            Fate::Failed => self.failed += 1,
        }
    }
}

/// Decides the outcome of every test of the list. `test_time` is the duration of each. By default,
/// it is made of the name, and the same in every run.
pub(super) fn plan(settings: &Settings, test_time: Option<Duration>) -> Vec<Case> {
    // A focus with the whole name of a test is that of a rerun.
    let named: BTreeSet<&str> = alternatives(&settings.focus).map(plain_name).collect();
    let case = |name: &str| {
        let node = is_suite_node(name);
        let again = || named.contains(go_quote(name).as_str());
        let fails = || settings.fail.as_ref().is_some_and(|fail| fail.is_match(name));
        let flakes = || settings.flaky.as_ref().is_some_and(|flaky| flaky.is_match(name)) && !again();
        let fate = match () {
            () if node => Fate::Passed,
            () if !settings.selection.runs(name) => Fate::Skipped,
            () if !settings.dry_run && (fails() || flakes()) => Fate::Failed,
            () => Fate::Passed,
        };
        let time = match fate {
            Fate::Skipped => Duration::ZERO,
            _ if settings.dry_run || node => Duration::ZERO,
            _ => test_time.unwrap_or_else(|| pretended(name)),
        };
        Case { name: name.to_owned(), node, fate, time }
    };
    let mut cases: Vec<Case> = NODES.into_iter().chain(settings.list.specs()).map(case).collect();
    if counts(&cases).selected() == 0 {
        // Without tests, only the nodes that write reports run.
        cases.retain(|case| !case.node || case.name.starts_with(REPORT));
    }
    cases
}

pub(super) fn counts(cases: &[Case]) -> Counts {
    let mut counts = Counts::default();
    cases.iter().filter(|case| !case.node).for_each(|case| counts.add(case.fate));
    counts
}

/// A duration between 50 ms and 30 s, as of most tests of the suite. FNV-1a gives the same one
/// everywhere.
fn pretended(name: &str) -> Duration {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    Duration::from_millis(50 + (hash >> 16) % 29_950)
}
