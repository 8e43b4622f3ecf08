//! The data types of a definition, and the rules for the definitions of one run together.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::definition::container::Container;
use crate::definition::error::{DefinitionError, UnknownDriver, Warning};
use crate::definition::extensions::Extensions;
use crate::definition::permissions::ApiPermissions;
use crate::name::{PluginName, serde_text};
use crate::text::first_chars;

/// The result format, and the name of its module, that accepts any file as is.
pub const RAW_FORMAT: &str = "raw";

/// The result format in which each file is read by the module that detects it.
pub const AUTO_FORMAT: &str = "auto";

/// The result format of checks, in which each line is an item, and the default of plugins that run
/// one.
pub const ITEMS_FORMAT: &str = "items";

/// How a plugin runs. Parsing ignores case. The written form matches Kubernetes kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Driver {
    /// Runs once per cluster.
    Job,
    /// Runs once per node.
    DaemonSet,
    /// Runs as a process on the machine of the aggregator.
    Process,
}

impl Driver {
    /// Returns the name as written in a definition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::DaemonSet => "DaemonSet",
            Self::Process => "Process",
        }
    }

    /// Returns whether there is one result per node, with a result set for each, instead of a
    /// single one.
    pub fn is_per_node(self) -> bool {
        matches!(self, Self::DaemonSet)
    }
}

impl FromStr for Driver {
    type Err = UnknownDriver;
    fn from_str(text: &str) -> Result<Self, UnknownDriver> {
        match text.to_ascii_lowercase().as_str() {
            "job" => Ok(Self::Job),
            "daemonset" => Ok(Self::DaemonSet),
            "process" => Ok(Self::Process),
            _ => Err(UnknownDriver(first_chars(text, 100).to_owned())),
        }
    }
}

serde_text!(Driver, UnknownDriver);

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The definition of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The plugin's name, unique in a run.
    pub name: PluginName,
    /// How the plugin runs.
    pub driver: Driver,
    /// The result format as written.
    pub result_format: Option<String>,
    /// Names, without directories, of the result files. If empty, those that the module reads by
    /// default.
    pub result_files: Vec<String>,
    /// Whether the plugin's pods and other objects stay after the run.
    pub skip_cleanup: bool,
    /// A one-line description.
    pub description: Option<String>,
    /// The source of the definition.
    pub source_url: Option<String>,
    /// Plugins of a lower order are launched and complete before those of a higher order.
    pub order: i32,
    /// The plugin's container.
    pub spec: Container,
    /// The pod template of the plugin (core/v1 `PodSpec`) as written. `None` uses the driver's
    /// default.
    pub pod_spec: Option<Value>,
    /// Additional volumes of the pod (core/v1 `Volume`) as written.
    pub extra_volumes: Vec<Value>,
    /// Files for the plugin: contents by file name.
    pub config_map: BTreeMap<String, String>,
    /// The section `plumbline`.
    pub plumbline: Extensions,
}

/// A parsed definition with its warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The definition.
    pub definition: Definition,
    /// What is suspicious in the definition, for the user.
    pub warnings: Vec<Warning>,
}

impl Definition {
    /// Returns the name of the expectations module: the one in the definition, or else the one
    /// named after the driver. A process produces one result, like a Job.
    pub fn expectations_module(&self) -> &str {
        match (&self.plumbline.expectations, self.driver) {
            (Some(name), _) => name,
            (None, Driver::Job | Driver::Process) => "job",
            (None, Driver::DaemonSet) => "daemonset",
        }
    }

    /// Returns the permissions that the plugin needs on the API server of its cluster: those that it
    /// asks for, and the reads that are granted to its check.
    pub fn api_permissions(&self) -> ApiPermissions {
        self.plumbline.permissions.with_reads(&self.plumbline.grants)
    }

    /// Returns the object under `Definition` in the archive's `definition.json`: the keys of the
    /// YAML without empty ones. [`Definition::from_json`] reads the same definition from it.
    pub fn to_json(&self) -> Value {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let mut config = Map::new();
        put(&mut config, "driver", Some(json!(self.driver)));
        put(&mut config, "plugin-name", Some(json!(self.name)));
        put(&mut config, "result-format", text(&self.result_format));
        put(&mut config, "result-files", (!self.result_files.is_empty()).then(|| json!(self.result_files)));
        put(&mut config, "skip-cleanup", self.skip_cleanup.then_some(Value::Bool(true)));
        put(&mut config, "description", text(&self.description));
        put(&mut config, "source-url", text(&self.source_url));
        put(&mut config, "order", (self.order != 0).then(|| json!(self.order)));

        let mut top = Map::new();
        put(&mut top, "sonobuoy-config", Some(Value::Object(config)));
        put(&mut top, "spec", Some(json!(self.spec)));
        put(&mut top, "podSpec", self.pod_spec.clone());
        put(&mut top, "extra-volumes", (!self.extra_volumes.is_empty()).then(|| json!(self.extra_volumes)));
        put(&mut top, "config-map", (!self.config_map.is_empty()).then(|| json!(self.config_map)));
        put(&mut top, "plumbline", (self.plumbline != Extensions::default()).then(|| json!(self.plumbline)));
        Value::Object(top)
    }
}

fn put(fields: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    fields.extend(value.map(|value| (key.to_owned(), value)));
}

/// Checks that the definitions can be in one run: names are unique, the API server accepts their
/// permissions, and reruns come after the plugin that they rerun.
///
/// # Errors
/// Returns [`DefinitionError::DuplicatePlugin`] with the first duplicate name,
/// [`DefinitionError::Reruns`], or [`DefinitionError::Invalid`] with the first invalid rule.
pub fn check_set<'a>(definitions: impl IntoIterator<Item = &'a Definition>) -> Result<(), DefinitionError> {
    let mut by_name = BTreeMap::new();
    for definition in definitions {
        definition.plumbline.permissions.check()?;
        if by_name.insert(&definition.name, definition).is_some() {
            return Err(DefinitionError::DuplicatePlugin(definition.name.clone()));
        }
    }
    by_name.values().try_for_each(|definition| check_reruns(definition, &by_name))
}

fn check_reruns(definition: &Definition, all: &BTreeMap<&PluginName, &Definition>) -> Result<(), DefinitionError> {
    let Some(reruns) = &definition.plumbline.reruns else { return Ok(()) };
    let refused =
        |why| Err(DefinitionError::Reruns { plugin: definition.name.clone(), other: reruns.plugin.clone(), why });
    match all.get(&reruns.plugin) {
        None => refused("there is no plugin of that name in this run: name both with `--plugin`"),
        Some(other) if other.order >= definition.order => {
            refused("it must come first: give it a lower `sonobuoy-config.order`")
        }
        // The name of a failed test does not include its node.
        Some(other) if other.driver.is_per_node() || definition.driver.is_per_node() => {
            refused("both must run once for the whole cluster or machine: use the driver `Job` or `Process`")
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    mod set {
        use serde_json::json;

        use super::super::*;

        fn plugin(name: &str, driver: &str, order: i32, reruns: Option<&str>) -> Definition {
            let own =
                reruns.map(|other| json!({"reruns": {"plugin": other, "focus": "FOCUS"}})).unwrap_or_else(|| json!({}));
            let config = json!({"driver": driver, "plugin-name": name, "order": order});
            Definition::from_json(json!({"sonobuoy-config": config, "spec": {}, "plumbline": own})).unwrap().definition
        }

        #[test]
        fn a_rerun_comes_after_what_it_runs_again() {
            let e2e = plugin("e2e", "Job", 0, None);
            let chain = [plugin("b", "Job", 2, Some("a")), e2e.clone(), plugin("a", "Job", 1, Some("e2e"))];
            assert_eq!(check_set(&chain), Ok(()));
            let wrong = [
                plugin("a", "Job", 1, Some("nobody")),
                plugin("a", "Job", 0, Some("e2e")),
                plugin("a", "Job", 1, Some("a")),
                plugin("a", "DaemonSet", 1, Some("e2e")),
            ];
            let errors = wrong.map(|wrong| check_set(&[e2e.clone(), wrong]).unwrap_err().to_string());
            insta::assert_snapshot!(errors.join("\n"));
            let nodes = [plugin("n", "DaemonSet", 0, None), plugin("a", "Job", 1, Some("n"))];
            assert!(check_set(&nodes).is_err());
        }
    }
}
