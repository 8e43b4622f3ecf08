//! What a rule came to.

use std::fmt;

use serde::Serialize;

/// How a rule came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is kept.
    Passed,
    /// It is broken.
    Failed,
    /// It needs the network, the pull request, or something that was not given.
    NotChecked,
}

impl Outcome {
    /// The outcome as words.
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

/// One rule, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// The name of the rule: words with `-` between them. Names do not change.
    pub rule: &'static str,
    /// Whether the verifier has this rule. Those that it has not would be noticed by the people who look at the submission.
    pub verifier: bool,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found, as a sentence.
    pub what: String,
    /// What to do, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What it is about in full: names of tests or files.
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

/// How many rules came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// Rules that are kept.
    pub passed: usize,
    /// Rules that are broken.
    pub failed: usize,
    /// Rules that were not checked.
    pub not_checked: usize,
    /// Whether it could not be checked which tests are required: without that, a submission is not known to be complete.
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
