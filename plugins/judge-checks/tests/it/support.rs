//! Shared helpers of the tests.

use plumbline_module_checks::Checks;
use plumbline_sdk::testing::{Case, Judged};
use plumbline_sdk::{Check, Outcome};

/// Returns a case with these checks.
pub(crate) fn checks(list: &str) -> Case {
    Case::new().format("checks").file("data/checks.yaml", list)
}

/// Runs the judge, which must not fail.
pub(crate) fn judged(case: &Case) -> Judged {
    let judged = case.judge::<Checks>();
    assert_eq!(judged.outcome, Ok(()));
    judged
}

/// Returns every check as a line.
pub(crate) fn shown(case: &Case) -> String {
    judged(case).checks.iter().map(line).collect()
}

/// Returns a check as a line.
pub(crate) fn line(check: &Check) -> String {
    let Check { id, name, outcome, want, got, reason } = check;
    let outcome = match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "FAILED",
        Outcome::Unknown => "unknown",
    };
    format!("{id} {outcome}: {name}: want {want}, got {got} | {reason}\n")
}
