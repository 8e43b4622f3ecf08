//! The log from which a worker reads the progress of its plugin.

use serde::{Deserialize, Serialize};

use crate::definition::error::DefinitionError;
use crate::definition::section::Section;

/// The environment variable that passes a [`LogProgress`] to the worker, as JSON.
pub const PROGRESS_VARIABLE: &str = "PLUMBLINE_PROGRESS";

/// The maximum length of a regular expression in characters. Every worker that needs it compiles
/// it.
pub const MAX_PROGRESS_PATTERN: usize = 1_000;

/// The value of `format` for logs that Ginkgo writes.
const GINKGO: &str = "ginkgo";

/// The maximum length of the file name in characters.
const MAX_FILE: usize = 240;

/// A log that shows the progress of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub struct LogProgress {
    /// The path of the file, relative to the results directory and without `..`.
    pub file: String,
    /// How tests are counted in the file.
    pub format: LogFormat,
}

/// How tests are counted in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFormat {
    /// The log is Ginkgo output in any of its modes.
    Ginkgo,
    /// Regular expressions match the tests.
    Patterns(LogPatterns),
}

/// Regular expressions of the crate `regex`, each applied to one line at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPatterns {
    /// A pattern whose first group is the total number of tests. `None` means unknown.
    pub total: Option<String>,
    /// A pattern that matches once per finished test, whether it passed or failed.
    pub completed: String,
    /// A pattern that matches once per failed test. `None` means unknown.
    pub failed: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Keys {
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

#[derive(Debug, thiserror::Error)]
enum KeysError {
    #[error("`format` and patterns cannot be combined: keep one")]
    Both,
    #[error("unknown format `{0}`; the only known format is `ginkgo`")]
    Format(String),
    #[error("`completed` or `format` is missing")]
    Neither,
}

impl TryFrom<Keys> for LogProgress {
    type Error = KeysError;

    fn try_from(keys: Keys) -> Result<Self, KeysError> {
        let Keys { file, format, total, completed, failed } = keys;
        let format = match (format.as_deref(), completed) {
            (Some(GINKGO), None) if total.is_none() && failed.is_none() => LogFormat::Ginkgo,
            (Some(GINKGO), _) => return Err(KeysError::Both),
            (Some(other), _) => return Err(KeysError::Format(other.to_owned())),
            (None, Some(completed)) => LogFormat::Patterns(LogPatterns { total, completed, failed }),
            (None, None) => return Err(KeysError::Neither),
        };
        Ok(Self { file, format })
    }
}

impl From<LogProgress> for Keys {
    fn from(progress: LogProgress) -> Self {
        let file = progress.file;
        match progress.format {
            LogFormat::Ginkgo => {
                Self { file, format: Some(GINKGO.to_owned()), total: None, completed: None, failed: None }
            }
            LogFormat::Patterns(LogPatterns { total, completed, failed }) => {
                Self { file, format: None, total, completed: Some(completed), failed }
            }
        }
    }
}

impl LogProgress {
    pub(super) fn read(mut section: Section) -> Result<Self, DefinitionError> {
        let file = section.text("file")?;
        let mut pattern = |key: &str| {
            let pattern = section.text(key)?;
            if pattern.as_ref().is_some_and(|pattern| pattern.chars().count() > MAX_PROGRESS_PATTERN) {
                let why = format!("the pattern has more than {MAX_PROGRESS_PATTERN} characters");
                return Err(section.invalid(key, why));
            }
            Ok(pattern)
        };
        let (format, total) = (pattern("format")?, pattern("total")?);
        let (completed, failed) = (pattern("completed")?, pattern("failed")?);
        let file = file.ok_or_else(|| DefinitionError::Missing(section.at("file")))?;
        if file.chars().count() > MAX_FILE || !is_inside(&file) {
            let why = "name a file below the results directory, without `..`, with `/` between names";
            return Err(section.invalid("file", why));
        }
        Self::try_from(Keys { file, format, total, completed, failed }).map_err(|error| match error {
            KeysError::Neither => DefinitionError::Missing(section.at("completed")),
            error => section.invalid("format", error),
        })
    }

    /// Returns whether the path of the file stays inside the results directory. The reader checks
    /// links.
    pub fn is_inside(&self) -> bool {
        is_inside(&self.file)
    }
}

fn is_inside(file: &str) -> bool {
    !file.contains(['\\', '\0']) && file.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Definition;

    fn read(progress: Value) -> Result<Definition, DefinitionError> {
        let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {}, "plumbline": {"progress": progress}});
        Definition::from_json(document).map(|parsed| parsed.definition)
    }

    #[test]
    fn the_key_is_read_and_written() {
        for progress in [
            json!({"file": "e2e.log", "total": "Will run (\\d+) of", "completed": "^•", "failed": "^• \\[FAILED\\]"}),
            json!({"file": "logs/a.txt", "completed": "ok"}),
            json!({"file": "e2e.log", "format": "ginkgo"}),
        ] {
            let definition = read(progress.clone()).unwrap();
            assert_eq!(definition.to_json()["plumbline"]["progress"], progress);
            assert_eq!(Definition::from_json(definition.to_json()).unwrap().definition, definition);
            // The worker must read back what it is given.
            let given = definition.plumbline.progress.unwrap();
            assert_eq!(serde_json::from_str::<LogProgress>(&serde_json::to_string(&given).unwrap()).unwrap(), given);
        }
    }

    #[test]
    fn invalid_entries_are_reported_by_key() {
        let errors: Vec<String> = [
            json!([]),
            json!({"file": "a"}),
            json!({"completed": "x"}),
            json!({"file": "../a", "completed": "x"}),
            json!({"file": "/a", "completed": "x"}),
            json!({"file": "a", "completed": "x".repeat(1001)}),
            json!({"file": "a", "format": "gingko"}),
            json!({"file": "a", "format": "ginkgo", "failed": "x"}),
            json!({"file": "a", "failed": "x"}),
        ]
        .into_iter()
        .map(|progress| read(progress).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
