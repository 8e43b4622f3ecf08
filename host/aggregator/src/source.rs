//! What a plan is made from: a definition with its bundle, and the limits of modules. Also the
//! errors of planning.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_core::definition::{Definition, LimitError, effective_limits};
use plumbline_core::{ModuleLimits, PluginName};
use plumbline_sandbox::{ModuleFailure, ModuleInfo, OptionProblem};

use crate::modules::ModuleError;

/// A definition and its bundle.
#[derive(Debug, Clone)]
pub struct Source {
    /// Definition of the plugin.
    pub definition: Arc<Definition>,
    /// Directory of the bundle with the definition and its modules, if there is one.
    pub bundle: Option<PathBuf>,
}

/// Default and maximum limits of modules.
#[derive(Debug, Clone)]
pub struct LimitPolicy {
    /// Limits without a request in the definition.
    pub default: ModuleLimits,
    /// Maximum limits, set by the operator.
    pub cap: ModuleLimits,
}

impl LimitPolicy {
    /// Returns the limits of `module` for a plugin. The definition takes precedence, because its
    /// author knows the results, while the module's author knows only the module.
    pub(crate) fn limits(&self, definition: &Definition, module: &ModuleInfo) -> Result<ModuleLimits, PlanError> {
        let request = definition.plumbline.limits.clone().or(&module.limits);
        effective_limits(&request, &self.default, &self.cap)
            .map_err(|source| PlanError::Limit { plugin: definition.name.clone(), source })
    }
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self { default: ModuleLimits::default(), cap: ModuleLimits::cap() }
    }
}

/// Error while planning a run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A module is unusable.
    #[error("plugin `{plugin}`: {source}")]
    Module {
        /// Name of the plugin.
        plugin: PluginName,
        /// The underlying error.
        source: ModuleError,
    },
    /// A limit exceeds the operator's cap.
    #[error("plugin `{plugin}`: {source}")]
    Limit {
        /// Name of the plugin.
        plugin: PluginName,
        /// The underlying error.
        source: LimitError,
    },
    /// A module rejects the options.
    #[error("plugin `{plugin}`: invalid options: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Options {
        /// Name of the plugin.
        plugin: PluginName,
        /// Problems, at least one.
        problems: Vec<OptionProblem>,
    },
    /// An input of a judge is invalid.
    #[error("plugin `{plugin}`: `{path}`: {why}")]
    Verdict {
        /// Name of the plugin.
        plugin: PluginName,
        /// Path of the key in the definition.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The expectations module failed.
    #[error("plugin `{plugin}`: failed to compute its expected results with module `{module}`: {source}")]
    Expectations {
        /// Name of the plugin.
        plugin: PluginName,
        /// Name of the module.
        module: String,
        /// The underlying error.
        source: Box<ModuleFailure>,
    },
}

impl PlanError {
    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Module { source, .. } => source.hint(),
            Self::Limit { source, .. } => Some(source.hint()),
            _ => None,
        }
    }
}
