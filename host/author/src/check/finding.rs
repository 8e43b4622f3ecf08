//! What a check says.

use std::fmt::Display;

use serde::Serialize;

/// Findings of one check that are kept: what is wrong in a hundred places is seen from these.
const MAX_FINDINGS: usize = 200;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A run would be refused, or not do what was meant.
    Error,
    /// A run would go on, and a person should know.
    Warning,
}

/// One thing that would go wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad.
    pub level: Level,
    /// Where: a file, relative to what was checked.
    pub place: String,
    /// What.
    pub what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A module that was looked at and can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedModule {
    /// Its file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The roles that it plays.
    pub roles: Vec<&'static str>,
    /// The version of the contract that it was built for.
    pub generation: Option<String>,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// SHA-256 of its bytes, as `sha256:` and hexadecimal digits.
    pub digest: String,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Checked {
    /// What was checked.
    pub path: String,
    /// What would go wrong, in the order in which it was found.
    pub findings: Vec<Finding>,
    /// The modules that can be used.
    pub modules: Vec<CheckedModule>,
}

impl Checked {
    /// How many findings there are of that level.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    pub(super) fn error(&mut self, place: impl Display, what: impl Display, hint: Option<&str>) {
        self.add(Level::Error, place, what, hint);
    }

    pub(super) fn warning(&mut self, place: impl Display, what: impl Display, hint: Option<&str>) {
        self.add(Level::Warning, place, what, hint);
    }

    fn add(&mut self, level: Level, place: impl Display, what: impl Display, hint: Option<&str>) {
        // An error is never left out: it decides the verdict.
        if self.findings.len() < MAX_FINDINGS || level == Level::Error && self.count(Level::Error) == 0 {
            let hint = hint.map(str::to_owned);
            self.findings.push(Finding { level, place: place.to_string(), what: what.to_string(), hint });
        }
    }
}
