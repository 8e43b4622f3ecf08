//! Turns a definition and settings into the definition of a run.

use std::collections::BTreeMap;

use plumbline_core::Definition;
use plumbline_core::definition::{DefinitionError, SuiteRun};
use serde_json::{Map, Value, json};

use super::model::{OptionType, ProfileOption, VALUE_PLACEHOLDER};
use super::settings::Settings;

/// Name of the Secret with the values of secret options. A local run uses no Secret, but its
/// definition is the same.
pub const SECRET: &str = "plumbline-options";

/// Maximum size in bytes of an expression of the judge `checks`.
const MAX_PATTERN: usize = 2000;

/// The prefix of the names of Ginkgo's tests in results.
const GINKGO_MARK: &str = "[It] ";

/// Where a suite runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On this machine.
    Local,
    /// In a cluster.
    Cluster,
}

/// The definition of a run, and what must stay out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The definition.
    pub definition: Definition,
    /// Values of secret options, by their key in the Secret [`SECRET`].
    pub secrets: BTreeMap<String, String>,
}

/// Error while applying settings to a definition.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The profile does not say how the suite runs on this machine.
    #[error("profile `{0}` runs only in a cluster")]
    NotLocal(String),
    /// The value of an option is a path on this machine, and the suite runs in a cluster.
    #[error("option `{0}` is a path on this machine, and the run is in a cluster")]
    Path(String),
    /// The name of a required test is too long for the judge that looks for it.
    #[error("the name of the required test `{0}` is too long: as an expression, it has more than {MAX_PATTERN} bytes")]
    LongName(String),
    /// A part of the definition has an unexpected type.
    #[error("`{0}` of its definition has an unexpected type")]
    Shape(&'static str),
    /// The resulting definition is invalid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl ApplyError {
    /// Returns a hint with the fix.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotLocal(_) => "leave out `--local`",
            Self::Path(_) => "leave out this option, or add `--local`",
            Self::LongName(_) => "leave this test out of the required ones",
            Self::Shape(_) | Self::Definition(_) => "correct `plugin.yaml` next to the profile",
        }
    }
}

impl Settings<'_> {
    /// Returns `definition` with these settings, for a run at `place`. Each of the tests in
    /// `required` must pass at least once, or at least run if only failed tests of another run are
    /// selected. The definition records the settings in
    /// `plumbline.suite`.
    pub fn apply(&self, definition: &Definition, place: Place, required: &[String]) -> Result<Applied, ApplyError> {
        let mut json = definition.to_json();
        let Value::Object(top) = &mut json else { return Err(ApplyError::Shape("definition")) };
        if place == Place::Local {
            self.make_local(definition, top)?;
        }
        let mut secrets = BTreeMap::new();
        for (option, value) in self.values() {
            if place == Place::Cluster && option.kind == OptionType::Path {
                // A default is for runs on a machine, and nobody gave it.
                if option.default.as_deref() == Some(value) {
                    continue;
                }
                return Err(ApplyError::Path(option.name.clone()));
            }
            if let Some(file) = &option.file {
                object(top, "config-map", "config-map")?.insert(file.clone(), json!(value));
            }
            if let Some(key) = &option.option {
                let own = object(top, "plumbline", "plumbline")?;
                object(own, "options", "plumbline.options")?.insert(key.clone(), typed(option, value));
            }
            let spec = object(top, "spec", "spec")?;
            // A process of this machine has no image.
            if option.image && place == Place::Cluster {
                spec.insert("image".to_owned(), json!(value));
            }
            if let Some(arg) = &option.arg {
                list(spec, "args", "spec.args")?.push(json!(arg.replace(VALUE_PLACEHOLDER, value)));
            }
            if let Some(variable) = &option.env {
                let env = list(spec, "env", "spec.env")?;
                env.retain(|other| other.get("name").and_then(Value::as_str) != Some(variable));
                if !value.is_empty() {
                    env.push(variable_entry(definition, option, variable, value, &mut secrets));
                }
            }
        }
        if !required.is_empty() {
            // A test that fails again is a failure itself, which judges may excuse.
            let statuses = if self.is_rerun() { json!(["passed", "failed", "timeout"]) } else { json!("passed") };
            let strip = self.profile.selection.as_ref().map_or("", |selection| selection.strip.as_str());
            let checks = required_checks(required, &statuses, strip)?;
            let own = object(top, "plumbline", "plumbline")?;
            list(own, "verdict", "plumbline.verdict")?.push(checks);
        }
        let mut definition = Definition::from_json(json)?.definition;
        let unset = if place == Place::Local { self.unset(&definition) } else { Vec::new() };
        definition.plumbline.suite = Some(SuiteRun { unset, ..self.suite_run() });
        Ok(Applied { definition, secrets })
    }

    /// Returns the variables that the suite must not inherit on this machine: those of options
    /// without a value, which the definition does not set either. Paths, such as a kubeconfig, and
    /// secrets may come from the environment.
    fn unset(&self, definition: &Definition) -> Vec<String> {
        let options = self.profile.options.iter();
        let options = options.filter(|option| option.kind != OptionType::Path && !option.secret);
        let is_set = |name: &String| definition.spec.env().iter().any(|variable| variable.name == *name);
        options.filter_map(|option| option.env.clone()).filter(|name| !is_set(name)).collect()
    }

    /// Makes a process of this machine out of the container of the definition.
    fn make_local(&self, definition: &Definition, top: &mut Map<String, Value>) -> Result<(), ApplyError> {
        let Some(local) = &self.profile.local else {
            return match definition.driver {
                plumbline_core::Driver::Process => Ok(()),
                _ => Err(ApplyError::NotLocal(self.profile.name.to_string())),
            };
        };
        object(top, "sonobuoy-config", "sonobuoy-config")?.insert("driver".to_owned(), json!("Process"));
        for cluster_only in ["podSpec", "extra-volumes"] {
            top.remove(cluster_only);
        }
        let spec = object(top, "spec", "spec")?;
        let own: &[&str] = if local.command.is_empty() { &["command", "args", "workingDir"] } else { &[] };
        spec.retain(|key, _| ["env", "name"].contains(&key.as_str()) || own.contains(&key.as_str()));
        if !local.command.is_empty() {
            spec.insert("command".to_owned(), json!(local.command));
        }
        Ok(())
    }
}

impl ProfileOption {
    /// Returns the value of this option in the definition of a run, if the option goes to a file or
    /// a module.
    pub fn value_in<'a>(&self, definition: &'a Definition) -> Option<&'a str> {
        let file = self.file.as_ref().and_then(|file| definition.config_map.get(file)).map(String::as_str);
        let option = self.option.as_ref().and_then(|key| definition.plumbline.options.get(key)?.as_str());
        file.or(option)
    }
}

/// Returns the value of an option for a module, which gets JSON.
fn typed(option: &ProfileOption, value: &str) -> Value {
    let other = || json!(value);
    match option.kind {
        OptionType::Bool => value.parse::<bool>().map_or_else(|_| other(), Value::Bool),
        OptionType::Integer => value.parse::<i64>().map_or_else(|_| other(), Value::from),
        OptionType::List => value.split(',').collect::<Vec<_>>().into(),
        _ => other(),
    }
}

/// Returns the variable of an option. That of a secret refers to its key in the Secret.
fn variable_entry(
    definition: &Definition,
    option: &ProfileOption,
    variable: &str,
    value: &str,
    secrets: &mut BTreeMap<String, String>,
) -> Value {
    if !option.secret {
        return json!({"name": variable, "value": value});
    }
    let key = format!("{}.{}", definition.name, option.name);
    let entry = json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": key}}});
    secrets.insert(key, value.to_owned());
    entry
}

/// Returns the judge that wants each test to have one of these statuses. In results, names may have the
/// prefix `strip`. A check that finds no test is `unknown`, so the plugin does not pass either.
fn required_checks(tests: &[String], statuses: &Value, strip: &str) -> Result<Value, ApplyError> {
    let is_other = !strip.is_empty() && strip != GINKGO_MARK;
    let prefix = if is_other { format!("({})?", literal(strip)) } else { String::new() };
    let check = |(at, test): (usize, &String)| {
        let matching = format!("^({})?{prefix}{}$", literal(GINKGO_MARK), literal(test));
        if matching.len() > MAX_PATTERN {
            return Err(ApplyError::LongName(plumbline_core::text::shortened(test, 100)));
        }
        Ok(json!({
            "id": format!("REQUIRED-{:03}", at + 1),
            "name": plumbline_core::text::shortened(test, 300),
            "items": statuses,
            "matching": matching,
            "want": ">= 1",
        }))
    };
    let checks = tests.iter().enumerate().map(check).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"judge": "checks", "options": {"checks": checks}}))
}

/// Returns a regular expression that matches exactly `text`.
fn literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn object<'a>(
    of: &'a mut Map<String, Value>,
    key: &str,
    path: &'static str,
) -> Result<&'a mut Map<String, Value>, ApplyError> {
    let value = of.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut().ok_or(ApplyError::Shape(path))
}

fn list<'a>(of: &'a mut Map<String, Value>, key: &str, path: &'static str) -> Result<&'a mut Vec<Value>, ApplyError> {
    let value = of.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!([]);
    }
    value.as_array_mut().ok_or(ApplyError::Shape(path))
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
