//! How cases came out.

use std::time::Duration;

use serde_json::{Value, json};

use super::case::CaseKind;
use super::compare::Diff;

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub kind: CaseKind,
    /// How it came out.
    pub result: CaseResult,
    /// What it took, compiling aside. Zero if it could not be run.
    pub wall: Duration,
    /// The most memory that one call of a module used, in bytes; zero if none came to its end.
    pub memory: u64,
}

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseResult {
    /// As expected.
    Passed,
    /// `expected.yaml` was written.
    Blessed {
        /// There was none before.
        new: bool,
    },
    /// Not as expected.
    Failed(Diff),
    /// Nobody says what is expected.
    Missing,
    /// It could not be run, or the module was ended: a sentence.
    Broken(String),
}

impl CaseResult {
    /// In one word.
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

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Passed | Self::Blessed { .. })
    }
}

/// How all cases came out, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The cases.
    pub cases: Vec<CaseReport>,
}

impl Report {
    /// Whether nothing is wrong with any.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.cases.iter().all(|case| case.result.is_good())
    }

    /// How many came out how, such as `2 passed, 1 failed`.
    #[must_use]
    pub fn summary(&self) -> String {
        let words = ["passed", "blessed", "failed", "missing", "broken"];
        let counted = words.map(|word| (word, self.cases.iter().filter(|case| case.result.word() == word).count()));
        let said: Vec<String> =
            counted.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
        if said.is_empty() { "no cases".to_owned() } else { said.join(", ") }
    }

    /// As data: an array with `case`, `kind`, `result`, `seconds`, `memory`, `diff` and `reason` of each.
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
