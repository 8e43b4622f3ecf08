//! The outcomes of cases.

use std::time::Duration;

use serde_json::{Value, json};

use super::case::CaseKind;
use super::compare::Diff;

/// The outcome of a case, with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseReport {
    /// The name of the case.
    pub name: String,
    /// The kind of the case.
    pub kind: CaseKind,
    /// The outcome.
    pub result: CaseResult,
    /// The wall-clock time without compilation. Zero if the case could not be run.
    pub wall: Duration,
    /// The highest memory usage of one call, in bytes. Zero if no call finished.
    pub memory: u64,
}

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseResult {
    /// The output is as expected.
    Passed,
    /// `expected.yaml` was written.
    Blessed {
        /// Whether there was none before.
        new: bool,
    },
    /// The output is not as expected.
    Failed(Diff),
    /// There is no expected output.
    Missing,
    /// The case could not be run, or the host ended the module. Holds the reason as a sentence.
    Broken(String),
}

impl CaseResult {
    /// Returns the outcome as one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Blessed { .. } => "blessed",
            Self::Failed(_) => "failed",
            Self::Missing => "missing",
            Self::Broken(_) => "broken",
        }
    }

    /// Returns whether the case passed or was blessed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Passed | Self::Blessed { .. })
    }
}

/// The outcomes of all cases, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The cases.
    pub cases: Vec<CaseReport>,
}

impl Report {
    /// Returns whether all cases passed or were blessed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.cases.iter().all(|case| case.result.is_good())
    }

    /// Returns the number of cases per outcome, such as `2 passed, 1 failed`.
    #[must_use]
    pub fn summary(&self) -> String {
        let words = ["passed", "blessed", "failed", "missing", "broken"];
        let counted = words.map(|word| (word, self.cases.iter().filter(|case| case.result.word() == word).count()));
        let said: Vec<String> =
            counted.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
        if said.is_empty() { "no cases".to_owned() } else { said.join(", ") }
    }

    /// Returns an array with `case`, `kind`, `result`, `seconds`, `memory`, `diff` and `reason` of
    /// each case.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let case = |case: &CaseReport| {
            let (diff, reason) = match &case.result {
                CaseResult::Failed(diff) => (Some(diff.to_string()), None),
                CaseResult::Broken(reason) => (None, Some(reason.clone())),
                CaseResult::Passed | CaseResult::Blessed { .. } | CaseResult::Missing => (None, None),
            };
            json!({
                "case": case.name,
                "kind": case.kind.word(),
                "result": case.result.word(),
                "seconds": case.wall.as_secs_f64(),
                "memory": case.memory,
                "diff": diff,
                "reason": reason,
            })
        };
        self.cases.iter().map(case).collect()
    }
}
