//! The findings of a check, and the host that it assumes.

use std::fmt::Display;

use plumbline_aggregator::LimitPolicy;
use plumbline_sandbox::{ModuleInfo, Sandbox};
use serde::Serialize;

/// Maximum number of findings of one check.
const MAX_FINDINGS: usize = 200;

/// The host that the plugin would run on.
pub struct Host<'a> {
    /// The sandbox that loads modules.
    pub sandbox: &'a Sandbox,
    /// The metadata of its built-in modules.
    pub built_in: Vec<&'a ModuleInfo>,
    /// Its limits.
    pub limits: &'a LimitPolicy,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A run would be rejected, or would not do what the author intended.
    Error,
    /// A run would continue, but the author should know.
    Warning,
}

/// A problem that the check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity.
    pub level: Level,
    /// The file, relative to the checked path.
    pub place: String,
    /// The problem.
    pub what: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A valid module that the check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedModule {
    /// The file of the module.
    pub file: String,
    /// The name of the module.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The roles that the module implements.
    pub roles: Vec<&'static str>,
    /// The version of the contract that the module was built for.
    pub generation: Option<String>,
    /// The interfaces that the module imports.
    pub imports: Vec<String>,
    /// The SHA-256 digest, as `sha256:` and hexadecimal digits.
    pub digest: String,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Checked {
    /// The checked path.
    pub path: String,
    /// The findings, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// The valid modules.
    pub modules: Vec<CheckedModule>,
}

impl Checked {
    /// Returns the number of findings of this level.
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
        // The first error is never dropped, because it decides the result.
        if self.findings.len() < MAX_FINDINGS || level == Level::Error && self.count(Level::Error) == 0 {
            let hint = hint.map(str::to_owned);
            self.findings.push(Finding { level, place: place.to_string(), what: what.to_string(), hint });
        }
    }
}
