//! Plugins that rerun the failed tests of another plugin.

use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::schema::RERUNS;
use crate::definition::section::Section;
use crate::definition::warning::Warnings;
use crate::name::PluginName;

/// The maximum number of variables to remove. A test suite has a handful of variables that select
/// tests.
const MAX_CLEAR: usize = 64;

/// The maximum length in characters of a name prefix, such as `[It] `.
const MAX_STRIP: usize = 200;

/// A request to rerun the failed tests of another plugin in the same run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reruns {
    /// The other plugin, which has a lower order.
    pub plugin: PluginName,
    /// The variable that receives the names of the failed tests, as a Go regular expression that
    /// matches each of them.
    pub focus: String,
    /// Variables to remove because they would select other tests.
    pub clear: Vec<String>,
    /// The prefix to strip from test names. If empty, nothing is stripped.
    pub strip: String,
}

impl Reruns {
    pub(super) fn read(path: &str, value: Value, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let mut section = Section::new(path, value, RERUNS, &[], warnings)?;
        let name = section.required("plugin")?;
        let name = name.as_str().ok_or_else(|| super::section::wrong_type(&section.at("plugin"), "text", &name))?;
        let plugin =
            name.parse().map_err(|error: crate::NameError| invalid(section.at("plugin"), error.to_string()))?;
        let focus = section.text("focus")?.ok_or_else(|| DefinitionError::Missing(section.at("focus")))?;
        check_variable(&section.at("focus"), &focus)?;
        let clear = section.texts("clear")?;
        if clear.len() > MAX_CLEAR {
            return Err(invalid(section.at("clear"), format!("there are more than {MAX_CLEAR} variables")));
        }
        for (i, name) in clear.iter().enumerate() {
            check_variable(&format!("{}[{i}]", section.at("clear")), name)?;
        }
        let strip = section.text("strip")?.unwrap_or_default();
        if strip.chars().count() > MAX_STRIP {
            return Err(invalid(section.at("strip"), format!("the text has more than {MAX_STRIP} characters")));
        }
        Ok(Self { plugin, focus, clear, strip })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("plugin".to_owned(), Value::from(self.plugin.as_str()));
        fields.insert("focus".to_owned(), Value::from(self.focus.as_str()));
        if !self.clear.is_empty() {
            fields.insert("clear".to_owned(), Value::from(self.clear.clone()));
        }
        if !self.strip.is_empty() {
            fields.insert("strip".to_owned(), Value::from(self.strip.as_str()));
        }
        Value::Object(fields)
    }
}

fn check_variable(path: &str, name: &str) -> Result<(), DefinitionError> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(invalid(path.to_owned(), "a variable has a name without `=`".to_owned()));
    }
    Ok(())
}

fn invalid(path: String, why: String) -> DefinitionError {
    DefinitionError::Invalid { path, why }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Definition;

    fn read(reruns: Value) -> Result<Definition, DefinitionError> {
        let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "again"}, "spec": {}, "plumbline": {"reruns": reruns}});
        Definition::from_json(document).map(|parsed| parsed.definition)
    }

    #[test]
    fn the_key_is_read_and_written() {
        let definition =
            read(json!({"plugin": "e2e", "focus": "E2E_FOCUS", "clear": ["E2E_SKIP"], "strip": "[It] "})).unwrap();
        let reruns = definition.plumbline.reruns.as_ref().unwrap();
        assert_eq!(
            (reruns.plugin.as_str(), reruns.focus.as_str(), reruns.strip.as_str()),
            ("e2e", "E2E_FOCUS", "[It] ")
        );
        assert_eq!(reruns.clear, ["E2E_SKIP"]);
        assert_eq!(Definition::from_json(definition.to_json()).unwrap().definition, definition);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        let errors: Vec<String> = [
            json!("e2e"),
            json!({"focus": "F"}),
            json!({"plugin": "e2e"}),
            json!({"plugin": "No Name", "focus": "F"}),
            json!({"plugin": "e2e", "focus": "A=B"}),
            json!({"plugin": "e2e", "focus": "F", "clear": ["A", ""]}),
            json!({"plugin": "e2e", "focus": "F", "strip": "x".repeat(201)}),
        ]
        .into_iter()
        .map(|reruns| read(reruns).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
