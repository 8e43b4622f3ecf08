//! The data types of a definition.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::definition::container::Container;
use crate::definition::extensions::Extensions;
use crate::definition::module_name::is_module_name;
use crate::definition::warning::Warning;
use crate::driver::Driver;
use crate::name::PluginName;

/// The result format, and the name of its module, that accepts any file as is.
pub const RAW_FORMAT: &str = "raw";

/// The result format in which each file is read by the module that detects it.
pub const AUTO_FORMAT: &str = "auto";

/// The definition of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The plugin's name, unique in a run.
    pub name: PluginName,
    /// How the plugin runs.
    pub driver: Driver,
    /// The result format as written. See [`Definition::format_module`].
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
    /// Returns the name of the module that reads the results: the result format, or [`RAW_FORMAT`]
    /// if it is missing or invalid as a module name. The caller checks whether the module exists.
    #[must_use]
    pub fn format_module(&self) -> &str {
        self.result_format.as_deref().filter(|name| is_module_name(name)).unwrap_or(RAW_FORMAT)
    }

    /// Returns the name of the expectations module: the one in the definition, or else the one
    /// named after the driver. A process produces one result, like a Job.
    #[must_use]
    pub fn expectations_module(&self) -> &str {
        match (&self.plumbline.expectations, self.driver) {
            (Some(name), _) => name,
            (None, Driver::Job | Driver::Process) => "job",
            (None, Driver::DaemonSet) => "daemonset",
        }
    }
}
