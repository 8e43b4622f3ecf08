//! The container of a plugin.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::definition::error::{DefinitionError, Warnings};
use crate::definition::schema;
use crate::definition::section::{scalar, wrong_type};

/// The placeholder in an image reference for the version of the cluster.
pub const K8S_VERSION_VARIABLE: &str = "$SONOBUOY_K8S_VERSION";

/// The `spec` of a definition: a container as in Kubernetes (core/v1 `Container`).
///
/// It is kept as written. The fields that a local run needs are also available as typed values.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    raw: Map<String, Value>,
    name: Option<String>,
    image: Option<String>,
    command: Vec<String>,
    args: Vec<String>,
    working_dir: Option<String>,
    env: Vec<EnvVar>,
}

/// An environment variable of a container.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvVar {
    /// The name of the variable.
    pub name: String,
    /// The value of the variable, or its source.
    pub value: EnvValue,
}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvValue {
    /// A literal string, empty if none is given.
    Text(String),
    /// The `valueFrom` of Kubernetes as written. Only a cluster can resolve it.
    From(Value),
}

/// The keys of a container that a check does not have. It has no image, and the driver decides how
/// its sandbox runs.
const NOT_FOR_CHECKS: [&str; 5] = ["image", "command", "args", "workingDir", "securityContext"];

impl Container {
    /// Checks that the container has only what a check can have.
    pub(super) fn check_component(&self) -> Result<(), DefinitionError> {
        let given = |key: &str| {
            self.raw
                .get(key)
                .is_some_and(|value| !value.is_null() && *value != "" && *value != Value::Array(Vec::new()))
        };
        match NOT_FOR_CHECKS.iter().find(|key| given(key)) {
            None => Ok(()),
            Some(key) => {
                let why = "a plugin with `plumbline.component` runs the check in place of an image: remove this key";
                Err(DefinitionError::Invalid { path: format!("spec.{key}"), why: why.to_owned() })
            }
        }
    }

    pub(super) fn read(value: Value, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let Value::Object(mut raw) = value else { return Err(wrong_type("spec", "a mapping", &value)) };
        for key in raw.keys() {
            if key.eq_ignore_ascii_case("volumes") {
                let instead = "a container has no volumes: use `extra-volumes`, or `podSpec.volumes`";
                warnings.add("spec.volumes", format_args!(" has no effect: {instead}"));
            } else if let Some(right) =
                schema::keys(schema::CONTAINER).find(|name| key != name && key.eq_ignore_ascii_case(name))
            {
                // Kubernetes accepts only this spelling of the key.
                warnings.add(&format!("spec.{key}"), format_args!(" is ignored: the key is spelled `{right}`"));
            }
        }
        Ok(Self {
            name: text(&mut raw, "name", warnings)?,
            image: text(&mut raw, "image", warnings)?,
            command: texts(&mut raw, "command", warnings)?,
            args: texts(&mut raw, "args", warnings)?,
            working_dir: text(&mut raw, "workingDir", warnings)?,
            env: env(&mut raw, warnings)?,
            raw,
        })
    }

    /// Returns the container as written, except that numbers and booleans are strings where
    /// Kubernetes requires strings.
    pub fn raw(&self) -> &Map<String, Value> {
        &self.raw
    }

    /// Returns the name of the container.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the image as written, with any [`K8S_VERSION_VARIABLE`] in place.
    pub fn image(&self) -> Option<&str> {
        self.image.as_deref()
    }

    /// Returns the entry point. If empty, that of the image.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Returns the arguments of the entry point.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the working directory. `None` means that of the image.
    pub fn working_dir(&self) -> Option<&str> {
        self.working_dir.as_deref()
    }

    /// Returns the environment in the order in which it is written. If a name occurs twice, the
    /// last one applies.
    pub fn env(&self) -> &[EnvVar] {
        &self.env
    }

    /// Returns a copy of the container with the variable `name` set to `value`, and without the
    /// variables in `clear`.
    pub fn with_variable(&self, name: &str, value: &str, clear: &[String]) -> Self {
        let gone = |other: &str| other == name || clear.iter().any(|cleared| cleared == other);
        let mut container = self.clone();
        container.env.retain(|var| !gone(&var.name));
        container.env.push(EnvVar { name: name.to_owned(), value: EnvValue::Text(value.to_owned()) });
        let mut env = match container.raw.remove("env") {
            Some(Value::Array(env)) => env,
            _ => Vec::new(),
        };
        env.retain(|var| !var.get("name").and_then(Value::as_str).is_some_and(gone));
        env.push(serde_json::json!({"name": name, "value": value}));
        container.raw.insert("env".to_owned(), Value::Array(env));
        container
    }
}

impl Serialize for Container {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(to)
    }
}

/// Returns the text of a scalar, and converts numbers and booleans in place. Otherwise the API server
/// would reject a pod that works in a local run.
fn read_text(path: &str, value: &mut Value, warnings: &mut Warnings) -> Result<String, DefinitionError> {
    let text = scalar(value).ok_or_else(|| wrong_type(path, "text", value))?;
    if !value.is_string() && !value.is_null() {
        warnings.not_text(path);
        *value = Value::String(text.clone());
    }
    Ok(text)
}

fn text(raw: &mut Map<String, Value>, key: &str, warnings: &mut Warnings) -> Result<Option<String>, DefinitionError> {
    let text = raw.get_mut(key).map(|value| read_text(&format!("spec.{key}"), value, warnings)).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

fn list<'a>(raw: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut [Value], DefinitionError> {
    match raw.get_mut(key) {
        None | Some(Value::Null) => Ok(&mut []),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong_type(&format!("spec.{key}"), "a list", other)),
    }
}

fn texts(raw: &mut Map<String, Value>, key: &str, warnings: &mut Warnings) -> Result<Vec<String>, DefinitionError> {
    let items = list(raw, key)?.iter_mut().enumerate();
    items.map(|(i, value)| read_text(&format!("spec.{key}[{i}]"), value, warnings)).collect()
}

fn env(raw: &mut Map<String, Value>, warnings: &mut Warnings) -> Result<Vec<EnvVar>, DefinitionError> {
    let mut vars = Vec::new();
    for (i, item) in list(raw, "env")?.iter_mut().enumerate() {
        let path = format!("spec.env[{i}]");
        let Value::Object(fields) = item else { return Err(wrong_type(&path, "a mapping", item)) };
        let name = match fields.get("name") {
            Some(Value::String(name)) if !name.is_empty() && !name.contains(['=', '\0']) => name.clone(),
            None | Some(Value::Null) => return Err(DefinitionError::Missing(format!("{path}.name"))),
            Some(other) => return Err(wrong_type(&format!("{path}.name"), "text without `=`", other)),
        };
        let from = fields.get("valueFrom").filter(|from| !from.is_null()).cloned();
        let value = match (fields.get_mut("value"), from) {
            (None | Some(Value::Null), Some(from)) => EnvValue::From(from),
            (None, None) => EnvValue::Text(String::new()),
            (Some(value), _) => EnvValue::Text(read_text(&format!("{path}.value"), value, warnings)?),
        };
        vars.push(EnvVar { name, value });
    }
    Ok(vars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_numbers_are_text_in_both_views() {
        let spec = json!({"image": 5, "command": ["sleep", 1.5], "args": [true], "tty": true, "env": [
            {"name": "A", "value": true}, {"name": "B", "value": 15}, {"name": "C", "value": null}, {"name": "D", "value": "x"}]});
        let container = Container::read(spec, &mut Warnings::default()).unwrap();
        let texts = json!({"image": "5", "command": ["sleep", "1.5"], "args": ["true"], "tty": true, "env": [
            {"name": "A", "value": "true"}, {"name": "B", "value": "15"}, {"name": "C", "value": null}, {"name": "D", "value": "x"}]});
        assert_eq!(json!(container), texts);
        assert_eq!(container, Container::read(texts, &mut Warnings::default()).unwrap());
    }

    #[test]
    fn a_variable_is_set_and_others_go_in_both_views() {
        let spec = json!({"image": "i", "env": [{"name": "A", "value": "1"}, {"name": "F", "value": "old"}, {"name": "S", "value": "x"}]});
        let container = Container::read(spec, &mut Warnings::default()).unwrap();
        let changed = container.with_variable("F", "new", &["S".to_owned()]);
        assert_eq!(changed.raw()["env"], json!([{"name": "A", "value": "1"}, {"name": "F", "value": "new"}]));
        assert_eq!(changed, Container::read(json!(changed), &mut Warnings::default()).unwrap());
        let none = Container::read(json!({"env": null}), &mut Warnings::default()).unwrap();
        assert_eq!(none.with_variable("F", "v", &[]).raw()["env"], json!([{"name": "F", "value": "v"}]));
    }
}
