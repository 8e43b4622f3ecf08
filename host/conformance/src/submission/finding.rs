//! Names of the rules, and their results.

use std::fmt;

use serde::Serialize;

/// Names of the rules. They are part of machine-readable output and never change.
pub mod rules {
    /// The pull request has a title.
    pub const TITLE: &str = "title-not-empty";
    /// The title contains version and product.
    pub const TITLE_FORM: &str = "title-form";
    /// The version in the title matches the folder.
    pub const TITLE_VERSION: &str = "title-matches-folder";
    /// The pull request has one commit.
    pub const ONE_COMMIT: &str = "one-commit";
    /// The files that the programme asks for exist, are not empty and can be read.
    pub const REQUIRED_FILES: &str = "required-files";
    /// Which files come from something other than the run. This rule is always kept.
    pub const OTHER_FILES: &str = "other-files";
    /// There are no other files.
    pub const NO_OTHER_FILES: &str = "no-other-files";
    /// The files are in `vX.Y/product`.
    pub const FOLDER: &str = "folder-structure";
    /// There is only one such folder.
    pub const ONE_PRODUCT: &str = "one-product";
    /// The required fields of `PRODUCT.yaml` have a value.
    pub const PRODUCT_FIELDS: &str = "product-fields";
    /// The URLs and the mail address in `PRODUCT.yaml` are well-formed.
    pub const PRODUCT_ADDRESSES: &str = "product-addresses";
    /// The type of the product is known.
    pub const PRODUCT_TYPE: &str = "product-type";
    /// The URLs return a page.
    pub const ADDRESSES_ANSWER: &str = "addresses-answer";
    /// The version is one of the last three minor versions.
    pub const SUPPORTED: &str = "supported-release";
    /// The verifier can read the file of results.
    pub const RESULTS_READABLE: &str = "results-readable";
    /// All required tests passed.
    pub const REQUIRED_TESTS: &str = "required-tests";
    /// No conformance test failed.
    pub const NO_FAILED_TESTS: &str = "no-failed-tests";
    /// The version in the log matches the folder. The verifier does not have this rule.
    pub const LOG_VERSION: &str = "log-version";
    /// A signed statement says that the files come from a run that passed.
    pub const ATTESTATION: &str = "attestation";
    /// There is nothing else that a reviewer would reject. The verifier does not have this rule.
    pub const HUMAN_REVIEW: &str = "human-review";
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
    fn new(rule: &'static str, outcome: Outcome, what: impl Into<String>) -> Self {
        Self { rule, verifier: true, outcome, what: what.into(), hint: None, names: Vec::new() }
    }

    /// Creates a finding about a rule that the submission conforms to.
    pub fn passed(rule: &'static str, what: impl Into<String>) -> Self {
        Self::new(rule, Outcome::Passed, what)
    }

    /// Creates a finding about a rule that the submission violates.
    pub fn failed(rule: &'static str, what: impl Into<String>) -> Self {
        Self::new(rule, Outcome::Failed, what)
    }

    /// Creates a finding about a rule that was not checked.
    pub fn not_checked(rule: &'static str, what: impl Into<String>) -> Self {
        Self::new(rule, Outcome::NotChecked, what)
    }

    /// Adds a hint with the fix.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the names of tests or files.
    #[must_use]
    pub fn names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Marks a rule that the verifier does not have.
    #[must_use]
    pub fn ours(mut self) -> Self {
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
