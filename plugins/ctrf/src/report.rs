//! The parts of a report that the module reads, as the schema describes them.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) results: Results,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Results {
    pub(crate) tool: Option<Tool>,
    pub(crate) summary: Option<Summary>,
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Tool {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    pub(crate) tests: Option<u64>,
    pub(crate) passed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) skipped: Option<u64>,
    pub(crate) pending: Option<u64>,
    pub(crate) other: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) status: String,
    /// Milliseconds.
    pub(crate) duration: Option<f64>,
    /// Milliseconds since 1970.
    pub(crate) start: Option<f64>,
    pub(crate) suite: Option<Suite>,
    pub(crate) message: Option<String>,
    pub(crate) trace: Option<String>,
    pub(crate) file_path: Option<String>,
    pub(crate) line: Option<serde_json::Value>,
    pub(crate) flaky: Option<bool>,
    pub(crate) retries: Option<u64>,
}

/// A name, or the names of the suite and its parent suites.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Suite {
    Name(String),
    Path(Vec<String>),
}

impl Test {
    /// Returns the key of the summary that counts the test.
    pub(crate) fn counted_as(&self) -> &str {
        match self.status.as_str() {
            status @ ("passed" | "failed" | "skipped" | "pending") => status,
            _ => "other",
        }
    }

    /// Returns the name of the group that the test belongs to.
    pub(crate) fn group(&self) -> Option<String> {
        let suite = match &self.suite {
            Some(Suite::Name(name)) => name.clone(),
            Some(Suite::Path(names)) => names.join(" > "),
            None => String::new(),
        };
        Some(suite)
            .filter(|suite| !suite.trim().is_empty())
            .or_else(|| self.file_path.clone())
            .filter(|name| !name.is_empty())
    }
}
