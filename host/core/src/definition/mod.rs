//! The definition of a plugin: what it runs, how it runs, and how its results are read
//! (docs/definition.md).
//!
//! The schema is Sonobuoy's, so its plugins run unchanged. Plumbline's own keys are in the section
//! `plumbline`, which Sonobuoy ignores. Keys match without regard to case. An unknown key is a
//! [`Warning`] and not an error.

mod config_map;
mod container;
mod error;
mod extensions;
mod json;
mod limits;
mod model;
mod module_name;
mod permissions;
mod progress;
mod read;
mod reruns;
mod schema;
mod section;
mod set;
mod verdict;
mod warning;
mod yaml;

pub use container::{Container, EnvValue, EnvVar, K8S_VERSION_VARIABLE};
pub use error::DefinitionError;
pub use error::LimitError;
pub use error::MAX_YAML_BYTES;
pub use extensions::Extensions;
pub use limits::{LimitsRequest, effective_limits};
pub use model::{AUTO_FORMAT, Definition, Parsed, RAW_FORMAT};
pub use module_name::{MAX_MODULE_NAME, is_module_name};
pub use permissions::{ApiPermissions, PolicyRule};
pub use progress::{LogFormat, LogPatterns, LogProgress, MAX_PROGRESS_PATTERN, PROGRESS_VARIABLE};
pub use reruns::Reruns;
pub use schema::{
    DEFINITION_SCHEMA_ID, MODULE_SCHEMA_ID, definition_schema, definition_schema_text, module_schema,
    module_schema_text,
};
pub use set::check_set;
pub use verdict::{MAX_JUDGES, VerdictEntry};
pub use warning::{MAX_WARNINGS, Warning, WarningKind};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
