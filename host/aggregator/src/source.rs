//! What a plan is made from, and why there may be none.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_core::definition::{Definition, LimitError};
use plumbline_core::{ModuleLimits, PluginName};
use plumbline_sandbox::{ModuleFailure, OptionProblem};

use crate::lazy::ModuleError;

/// A definition, and where it came from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The definition.
    pub definition: Arc<Definition>,
    /// The directory that holds it and its modules, if it came as a directory.
    pub bundle: Option<PathBuf>,
}

/// Why a run cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A module cannot be had.
    #[error("plugin `{plugin}`: {source}")]
    Module {
        /// The plugin.
        plugin: PluginName,
        /// The cause.
        source: ModuleError,
    },
    /// A limit over the operator's cap.
    #[error("plugin `{plugin}`: {source}")]
    Limit {
        /// The plugin.
        plugin: PluginName,
        /// The cause.
        source: LimitError,
    },
    /// Options that a module does not take.
    #[error("plugin `{plugin}`: its options cannot be used: {}", sentence(problems))]
    Options {
        /// The plugin.
        plugin: PluginName,
        /// What is wrong, at least one.
        problems: Vec<OptionProblem>,
    },
    /// What a judge is given cannot be.
    #[error("plugin `{plugin}`: `{path}`: {why}")]
    Verdict {
        /// The plugin.
        plugin: PluginName,
        /// The key.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The expectations could not say who must answer.
    #[error("plugin `{plugin}`: its expectations (module `{module}`) failed: {source}")]
    Expectations {
        /// The plugin.
        plugin: PluginName,
        /// The module.
        module: String,
        /// The cause.
        source: Box<ModuleFailure>,
    },
}

/// What modules may use when a definition asks for nothing, and at most.
#[derive(Debug, Clone)]
pub struct LimitPolicy {
    /// Without a request.
    pub default: ModuleLimits,
    /// The operator's cap.
    pub cap: ModuleLimits,
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self { default: ModuleLimits::default(), cap: ModuleLimits::cap() }
    }
}

impl PlanError {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Module { source, .. } => source.hint(),
            _ => None,
        }
    }
}

pub(super) fn sentence(problems: &[OptionProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
