//! The definition of a plugin: what it runs, how it runs, and how its results are read
//! (docs/definition.md).
//!
//! The schema is Sonobuoy's, so its plugins run unchanged. Plumbline's own keys are in the section
//! `plumbline`, which Sonobuoy ignores. Keys match without regard to case. An unknown key is a
//! [`Warning`] and not an error, unless it is close to a key of Plumbline.

mod container;
mod error;
mod extensions;
mod limits;
mod model;
mod permissions;
mod progress;
mod read;
mod schema;
mod section;

pub use crate::name::{MAX_MODULE_NAME, is_module_name};
pub use container::{Container, EnvValue, EnvVar, K8S_VERSION_VARIABLE};
pub use error::{DefinitionError, MAX_WARNINGS, MAX_YAML_BYTES, Warning};
pub use extensions::{Extensions, MAX_JUDGES, Reruns, SuiteRun, VerdictEntry};
pub use limits::{LimitError, LimitsRequest, effective_limits};
pub use model::{AUTO_FORMAT, Definition, Driver, ITEMS_FORMAT, Parsed, RAW_FORMAT, check_set};
pub use permissions::{ApiPermissions, PolicyRule};
pub use progress::{LogFormat, LogPatterns, LogProgress, MAX_PROGRESS_PATTERN, PROGRESS_VARIABLE};
pub use schema::{definition_schema, definition_schema_text, module_schema, module_schema_text};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
