//! Where a worker reads how far a plugin is that does not say so itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::schema::PROGRESS;
use crate::definition::section::Section;
use crate::definition::warning::Warnings;

/// The variable in which a worker finds it, as JSON.
pub const PROGRESS_VARIABLE: &str = "PLUMBLINE_PROGRESS";

/// Characters of a regular expression. Each is compiled by every worker that needs it.
pub const MAX_PROGRESS_PATTERN: usize = 1_000;

/// Characters of the file's name.
const MAX_FILE: usize = 240;

/// A log that tells how far a plugin is, for a worker to which the plugin itself says nothing. The patterns are regular expressions of
/// the crate `regex`, and are matched on one line at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LogProgress {
    /// The file, relative to the results directory: without `..`.
    pub file: String,
    /// Tells how many tests there are: the first group is the number. `None`: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
    /// Each match is a test that ended, well or not.
    pub completed: String,
    /// Each match is a test that ended and failed. `None`: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
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
        let (file, total, completed, failed) = (text("file")?, text("total")?, text("completed")?, text("failed")?);
        let file = file.ok_or_else(|| DefinitionError::Missing(section.at("file")))?;
        if file.chars().count() > MAX_FILE || !is_inside(&file) {
            return Err(DefinitionError::Invalid {
                path: section.at("file"),
                why: "name a file below the results directory, without `..`, with `/` between names".to_owned(),
            });
        }
        let completed = completed.ok_or_else(|| DefinitionError::Missing(section.at("completed")))?;
        Ok(Self { file, total, completed, failed })
    }

    pub(super) fn to_json(&self) -> Value {
        let fields = [
            ("file", Some(&self.file)),
            ("total", self.total.as_ref()),
            ("completed", Some(&self.completed)),
            ("failed", self.failed.as_ref()),
        ];
        let given = fields.into_iter().filter_map(|(key, text)| Some((key.to_owned(), Value::from(text?.as_str()))));
        Value::Object(given.collect::<Map<_, _>>())
    }

    /// Whether the file is one below the results directory, as far as its name tells. Links are for the reader to look out for.
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
        ] {
            let definition = read(progress.clone()).unwrap();
            assert_eq!(definition.to_json()["plumbline"]["progress"], progress);
            assert_eq!(Definition::from_json(definition.to_json()).unwrap().definition, definition);
            // What a worker is given is what it reads.
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
        ]
        .into_iter()
        .map(|progress| read(progress).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
