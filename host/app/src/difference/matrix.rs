//! The tests of several runs, with a column for each run.

use std::collections::BTreeSet;

use plumbline_core::Status;
use serde::Serialize;

use super::{Difference, Outcome, SameTests, TestKey, TestNames, Tests, compare, with_classes, without_other_classes};

/// The differences between three or more runs. Keys are only ever added (docs/output.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matrix {
    /// The runs, in the order in which they were passed.
    pub runs: Vec<RunColumn>,
    /// The tests that failed in a run, or ran in some of the runs only. Those that failed in the
    /// last run come first.
    pub tests: Vec<MatrixTest>,
    /// The differences between the last two runs.
    pub last: Difference,
}

/// A run of a [`Matrix`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunColumn {
    /// The archive.
    pub archive: String,
    /// Tests that ran.
    pub ran: usize,
    /// Of these, tests that failed.
    pub failed: usize,
}

/// A test of a [`Matrix`]. Each list has an entry for each run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixTest {
    /// The test.
    #[serde(flatten)]
    pub test: TestNames,
    /// Its status in each run, the worst of several. `None` if the run does not have it.
    pub statuses: Vec<Option<Status>>,
    /// Its seconds in each run, the most of several.
    pub seconds: Vec<Option<f64>>,
    #[serde(skip)]
    outcomes: Vec<Outcome>,
}

impl MatrixTest {
    /// A character for each run: `.` passed, `F` failed, `f` failed and passed, `-` did not run, `?`
    /// other status.
    pub fn letters(&self) -> String {
        self.outcomes.iter().map(|outcome| outcome.letter()).collect()
    }

    fn is_of_interest(&self) -> bool {
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed | Outcome::Flaky);
        self.outcomes.iter().any(failed) || self.outcomes.iter().any(|one| Some(one) != self.outcomes.first())
    }
}

/// Puts the tests of runs next to each other. `runs` are the archives with their tests.
///
/// If a plugin has no classes in one of the runs, its classes in the others are ignored, as
/// [`compare`] does.
pub fn matrix(runs: &[(String, Tests)]) -> Matrix {
    let mut all = runs.iter().map(|(_, tests)| with_classes(tests.keys()));
    let first = all.next().unwrap_or_default();
    let with = all.fold(first, |with, more| with.intersection(&more).copied().collect::<BTreeSet<&str>>());
    let columns: Vec<Tests> = runs.iter().map(|(_, tests)| without_other_classes(tests, &with)).collect();
    let keys: BTreeSet<&TestKey> = columns.iter().flat_map(Tests::keys).collect();
    let mut tests: Vec<MatrixTest> = keys.into_iter().map(|key| test(key, &columns)).collect();
    tests.retain(MatrixTest::is_of_interest);
    // Tests that failed in the last run come first.
    tests.sort_by_key(|test| !matches!(test.outcomes.last(), Some(Outcome::Failed | Outcome::Flaky)));
    let run = |((archive, _), tests): (&(String, Tests), &Tests)| {
        let each = || tests.values().flat_map(|same| &same.0);
        RunColumn {
            archive: archive.clone(),
            ran: each().filter(|test| test.ran()).count(),
            failed: each().filter(|test| test.failed()).count(),
        }
    };
    let last = match runs {
        [.., (_, before), (_, after)] => compare(before, after),
        _ => Difference::default(),
    };
    Matrix { runs: runs.iter().zip(&columns).map(run).collect(), tests, last }
}

fn test(key: &TestKey, columns: &[Tests]) -> MatrixTest {
    let same: Vec<Option<&SameTests>> = columns.iter().map(|tests| tests.get(key)).collect();
    let worst = |same: &SameTests| {
        let failed = same.0.iter().find(|test| test.failed());
        failed.or_else(|| same.0.iter().find(|test| test.ran())).or(same.0.first()).map(|test| test.status.clone())
    };
    let longest = |same: &SameTests| same.0.iter().filter_map(|test| test.seconds).reduce(f64::max);
    let outcome = |same: &Option<&SameTests>| same.map_or(Outcome::Skipped, |same| Outcome::of(&same.0));
    MatrixTest {
        test: key.into(),
        statuses: same.iter().map(|same| same.and_then(worst)).collect(),
        seconds: same.iter().map(|same| same.and_then(longest)).collect(),
        outcomes: same.iter().map(outcome).collect(),
    }
}

#[cfg(test)]
mod tests {
    use plumbline_core::TestId;

    use super::*;
    use crate::difference::Test;

    fn run(archive: &str, tests: &[(&str, &str)]) -> (String, Tests) {
        let mut found = Tests::new();
        for (name, status) in tests {
            let id = TestId { name: (*name).to_owned(), ..TestId::default() };
            let key = TestKey { plugin: "p".into(), test: id };
            let test = Test { status: (*status).into(), seconds: None, reason: None };
            found.entry(key).or_default().0.push(test);
        }
        (archive.to_owned(), found)
    }

    #[test]
    fn each_run_is_a_column_and_what_never_changed_is_left_out() {
        let runs = [
            run("a", &[("always good", "passed"), ("mended", "failed"), ("broke", "passed"), ("gone", "passed")]),
            run("b", &[("always good", "passed"), ("mended", "passed"), ("broke", "failed"), ("gone", "skipped")]),
            run("c", &[("always good", "passed"), ("mended", "passed"), ("broke", "failed"), ("broke", "passed")]),
        ];
        let found = matrix(&runs);
        let rows: Vec<(String, &str)> =
            found.tests.iter().map(|test| (test.letters(), test.test.name.as_str())).collect();
        assert_eq!(rows, [(".Ff".to_owned(), "broke"), (".--".to_owned(), "gone"), ("F..".to_owned(), "mended")]);
        assert_eq!(found.runs.iter().map(|run| (run.ran, run.failed)).collect::<Vec<_>>(), [(4, 1), (3, 1), (4, 1)]);
        assert_eq!(found.tests[1].statuses, [Some(Status::Passed), Some(Status::Skipped), None]);
        // Of one failure and one pass after one failure, the failure remains.
        assert_eq!((found.last.new_failures.len(), found.last.still_failing.len()), (0, 1));
    }
}
