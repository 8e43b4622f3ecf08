//! What a definition holds.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::definition::container::Container;
use crate::definition::extensions::Extensions;
use crate::definition::module_name::is_module_name;
use crate::definition::warning::Warning;
use crate::driver::Driver;
use crate::name::PluginName;

/// The result format, and the module of that name, that takes any file as it is.
pub const RAW_FORMAT: &str = "raw";

/// The result format of which each file is read by the module that detects it.
pub const AUTO_FORMAT: &str = "auto";

/// The definition of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The plugin's name, unique in a run.
    pub name: PluginName,
    /// How it is executed.
    pub driver: Driver,
    /// How its results are read, as written; see [`Definition::format_module`].
    pub result_format: Option<String>,
    /// Names (without directories) of the files that count as results; empty: those that the module takes by default.
    pub result_files: Vec<String>,
    /// What was started stays after the run.
    pub skip_cleanup: bool,
    /// One line for a person.
    pub description: Option<String>,
    /// Where the definition comes from.
    pub source_url: Option<String>,
    /// Plugins of a lower order are launched, and complete, before those of a higher.
    pub order: i32,
    /// The plugin's container.
    pub spec: Container,
    /// The pod around it (core/v1 `PodSpec`), as it was written; `None`: the driver's default.
    pub pod_spec: Option<Value>,
    /// Further volumes of the pod (core/v1 `Volume`), as they were written.
    pub extra_volumes: Vec<Value>,
    /// Files for the plugin: name to content.
    pub config_map: BTreeMap<String, String>,
    /// Our own section.
    pub plumbline: Extensions,
}

/// A definition that was read, and what is odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The definition.
    pub definition: Definition,
    /// What is odd; for a person to see.
    pub warnings: Vec<Warning>,
}

impl Definition {
    /// The name of the module that reads the results: the result format, or [`RAW_FORMAT`] when there is none or it cannot name a
    /// module. That there is a module of this name is for the caller to find out.
    #[must_use]
    pub fn format_module(&self) -> &str {
        self.result_format.as_deref().filter(|name| is_module_name(name)).unwrap_or(RAW_FORMAT)
    }

    /// The name of the module that says who must answer: the one that the definition names, else the one named after the driver (a
    /// process answers once, like a job).
    #[must_use]
    pub fn expectations_module(&self) -> &str {
        match (&self.plumbline.expectations, self.driver) {
            (Some(name), _) => name,
            (None, Driver::Job | Driver::Process) => "job",
            (None, Driver::DaemonSet) => "daemonset",
        }
    }
}
