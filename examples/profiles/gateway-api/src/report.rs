//! The report, as the types of the Gateway API's package `conformance/apis/v1` write it.

use std::fmt;

use serde::Deserialize;

/// The API version of a report.
const API_VERSION: &str = "gateway.networking.k8s.io/v1";

/// The kind of a report.
const KIND: &str = "ConformanceReport";

/// A report. Unknown fields are errors, because a report must be as the suite wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Report {
    api_version: String,
    kind: String,
    pub(crate) implementation: Implementation,
    pub(crate) date: String,
    #[serde(rename = "gatewayAPIVersion")]
    pub(crate) api: String,
    #[serde(rename = "gatewayAPIChannel")]
    pub(crate) channel: String,
    pub(crate) mode: String,
    /// `null` if no test belongs to a profile.
    pub(crate) profiles: Option<Vec<ProfileReport>>,
    #[serde(default)]
    #[expect(dead_code, reason = "a part of the format without a rule")]
    succeeded_provisional_tests: Vec<String>,
}

/// What was tested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Implementation {
    pub(crate) organization: String,
    pub(crate) project: String,
    pub(crate) url: String,
    pub(crate) version: String,
    pub(crate) contact: Option<Vec<String>>,
}

/// The report of one conformance profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileReport {
    pub(crate) name: String,
    #[expect(dead_code, reason = "a part of the format without a rule")]
    summary: String,
    pub(crate) core: Level,
    pub(crate) extended: Option<Level>,
}

/// The results of one level of support.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Level {
    pub(crate) result: ResultWord,
    pub(crate) statistics: Statistics,
    #[serde(default)]
    pub(crate) skipped_tests: Vec<String>,
    #[serde(default)]
    pub(crate) failed_tests: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "a part of the format without a rule")]
    supported_features: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "a part of the format without a rule")]
    unsupported_features: Vec<String>,
}

/// The result of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResultWord {
    Success,
    Partial,
    Failure,
}

/// Numbers of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Statistics {
    pub(crate) passed: u32,
    pub(crate) skipped: u32,
    pub(crate) failed: u32,
}

impl Report {
    /// Returns what is wrong with the type of the document.
    pub(crate) fn wrong_type(&self) -> Option<String> {
        let found = (self.api_version.as_str(), self.kind.as_str());
        (found != (API_VERSION, KIND)).then(|| format!("it is a `{}` of `{}`", self.kind, self.api_version))
    }

    /// Returns the name that the file must have.
    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}-{}-report.yaml", self.channel, self.implementation.version, self.mode)
    }
}

impl Statistics {
    /// Returns the result that follows from the numbers.
    pub(crate) fn result(self) -> ResultWord {
        match self {
            Self { failed: 1.., .. } => ResultWord::Failure,
            Self { skipped: 1.., .. } => ResultWord::Partial,
            _ => ResultWord::Success,
        }
    }
}

impl fmt::Display for ResultWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failure => "failure",
        })
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}
