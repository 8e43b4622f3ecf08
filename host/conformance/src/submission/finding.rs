//! Names of the rules, and their results.

use std::fmt;

use serde::Serialize;

/// Names of the rules. They are part of machine-readable output and never change.
pub(super) mod rules {
    /// The pull request has a title.
    pub(crate) const TITLE: &str = "title-not-empty";
    /// The title contains version and product.
    pub(crate) const TITLE_FORM: &str = "title-form";
    /// The version in the title matches the folder.
    pub(crate) const TITLE_VERSION: &str = "title-matches-folder";
    /// The pull request has one commit.
    pub(crate) const ONE_COMMIT: &str = "one-commit";
    /// The four files exist, are not empty and can be read.
    pub(crate) const REQUIRED_FILES: &str = "required-files";
    /// There are no other files.
    pub(crate) const NO_OTHER_FILES: &str = "no-other-files";
    /// The files are in `vX.Y/product`.
    pub(crate) const FOLDER: &str = "folder-structure";
    /// There is only one such folder.
    pub(crate) const ONE_PRODUCT: &str = "one-product";
    /// The required fields of `PRODUCT.yaml` have a value.
    pub(crate) const PRODUCT_FIELDS: &str = "product-fields";
    /// The URLs and the mail address in `PRODUCT.yaml` are well-formed.
    pub(crate) const PRODUCT_ADDRESSES: &str = "product-addresses";
    /// The type of the product is known.
    pub(crate) const PRODUCT_TYPE: &str = "product-type";
    /// The URLs return a page.
    pub(crate) const ADDRESSES_ANSWER: &str = "addresses-answer";
    /// The version is one of the last three minor versions.
    pub(crate) const SUPPORTED: &str = "supported-release";
    /// The verifier can read the file of results.
    pub(crate) const RESULTS_READABLE: &str = "results-readable";
    /// All required tests passed.
    pub(crate) const REQUIRED_TESTS: &str = "required-tests";
    /// No conformance test failed.
    pub(crate) const NO_FAILED_TESTS: &str = "no-failed-tests";
    /// The version in the log matches the folder. The verifier does not have this rule.
    pub(crate) const LOG_VERSION: &str = "log-version";
    /// There is nothing else that a reviewer would reject. The verifier does not have this rule.
    pub(crate) const HUMAN_REVIEW: &str = "human-review";
}

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
                    summary.incomplete |= finding.rule == rules::REQUIRED_TESTS;
                }
            }
        }
        summary
    }
}
