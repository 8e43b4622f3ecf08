//! The log from which a worker reads the progress of its plugin.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::schema::{GINKGO, PROGRESS};
use crate::definition::section::Section;
use crate::definition::warning::Warnings;

/// The environment variable that passes a [`LogProgress`] to the worker, as JSON.
pub const PROGRESS_VARIABLE: &str = "PLUMBLINE_PROGRESS";

/// The maximum length of a regular expression in characters. Every worker that needs it compiles
/// it.
pub const MAX_PROGRESS_PATTERN: usize = 1_000;

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

/// The keys as written.
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

/// Error for keys that do not form a [`LogProgress`].
#[derive(Debug, thiserror::Error)]
enum KeysError {
    #[error("`format` and patterns exclude each other")]
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
    pub(super) fn read(path: &str, value: Value, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let mut section = Section::new(path, value, PROGRESS, &[], warnings)?;
        let mut text = |key: &str| match section.text(key)? {
            Some(text) if key != "file" && text.chars().count() > MAX_PROGRESS_PATTERN => {
                Err(DefinitionError::Invalid {
                    path: section.at(key),
                    why: format!("the pattern has more than {MAX_PROGRESS_PATTERN} characters"),
                })
            }
            text => Ok(text),
        };
        let (file, format) = (text("file")?, text("format")?);
        let (total, completed, failed) = (text("total")?, text("completed")?, text("failed")?);
        let file = file.ok_or_else(|| DefinitionError::Missing(section.at("file")))?;
        if file.chars().count() > MAX_FILE || !is_inside(&file) {
            return Err(DefinitionError::Invalid {
                path: section.at("file"),
                why: "name a file below the results directory, without `..`, with `/` between names".to_owned(),
            });
        }
        Self::try_from(Keys { file, format, total, completed, failed }).map_err(|error| match error {
            KeysError::Neither => DefinitionError::Missing(section.at("completed")),
            error => DefinitionError::Invalid { path: section.at("format"), why: error.to_string() },
        })
    }

    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|_| Value::Object(Map::new()))
    }

    /// Returns whether the path of the file stays inside the results directory. The reader checks
    /// links.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        is_inside(&self.file)
    }
}

fn is_inside(file: &str) -> bool {
    !file.contains(['\\', '\0']) && file.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn what_cannot_be_meant_is_named() {
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
