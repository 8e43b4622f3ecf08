//! Results of rules.

use std::fmt;

use serde::Serialize;

/// Outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The submission conforms to the rule.
    Passed,
    /// The submission violates the rule.
    Failed,
    /// The rule needs the network, the pull request, or an input that is missing.
    NotChecked,
}

impl Outcome {
    /// Returns the outcome as words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotChecked => "not checked",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// Name of the rule: words separated by `-`. Names are stable.
    pub rule: &'static str,
    /// Whether the verifier has this rule. Reviewers of the submission check the others.
    pub verifier: bool,
    /// Outcome of the rule.
    pub outcome: Outcome,
    /// What was found, as a sentence.
    pub what: String,
    /// Hint with the fix, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Full list of the affected tests or files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Finding {
    pub(super) fn new(rule: &'static str, outcome: Outcome, what: impl Into<String>) -> Self {
        Self { rule, verifier: true, outcome, what: what.into(), hint: None, names: Vec::new() }
    }

    pub(super) fn passed(rule: &'static str, what: impl Into<String>) -> Self {
        Self::new(rule, Outcome::Passed, what)
    }

    pub(super) fn failed(rule: &'static str, what: impl Into<String>) -> Self {
        Self::new(rule, Outcome::Failed, what)
    }

    pub(super) fn not_checked(rule: &'static str, what: impl Into<String>) -> Self {
        Self::new(rule, Outcome::NotChecked, what)
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Marks a rule that the verifier does not have.
    pub(super) fn ours(mut self) -> Self {
        self.verifier = false;
        self
    }
}

/// Number of rules by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// Rules that passed.
    pub passed: usize,
    /// Rules that failed.
    pub failed: usize,
    /// Rules that were not checked.
    pub not_checked: usize,
    /// Whether the required tests could not be checked. The submission is then not known to be
    /// complete.
    pub incomplete: bool,
}

impl Summary {
    /// Counts findings.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let mut summary = Self::default();
        for finding in findings {
            match finding.outcome {
                Outcome::Passed => summary.passed += 1,
                Outcome::Failed => summary.failed += 1,
                Outcome::NotChecked => {
                    summary.not_checked += 1;
                    summary.incomplete |= finding.rule == super::rules::REQUIRED_TESTS;
                }
            }
        }
        summary
    }
}
