//! What the tests share.

use plumbline_module_checks::Checks;
use plumbline_sdk::testing::{Case, Judged};
use plumbline_sdk::{Check, Outcome};

/// A case with these checks.
pub(crate) fn checks(list: &str) -> Case {
    Case::new().format("checks").file("data/checks.yaml", list)
}

/// What the judge says, having come to the end.
pub(crate) fn judged(case: &Case) -> Judged {
    let judged = case.judge::<Checks>();
    assert_eq!(judged.outcome, Ok(()));
    judged
}

/// Every check as lines.
pub(crate) fn shown(case: &Case) -> String {
    judged(case).checks.iter().map(line).collect()
}

/// A check as a line.
pub(crate) fn line(check: &Check) -> String {
    let Check { id, name, outcome, want, got, reason } = check;
    let outcome = match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "FAILED",
        Outcome::Unknown => "unknown",
    };
    format!("{id} {outcome}: {name}: want {want}, got {got} | {reason}\n")
}
