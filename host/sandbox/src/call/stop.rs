//! Why the host ends a call: travels through the engine as an error, and comes out as a [`ModuleFailure`].

use std::io;

use plumbline_core::ModuleLimits;

use crate::failure::{ModuleFailure, Unit};

/// The limit on different statuses.
pub(crate) const STATUSES: &str = "statuses";

/// The limit on the stack, as it is called in a definition.
pub(crate) const STACK: &str = "stack";

/// Why the host ends a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// A limit.
    #[error("limit `{limit}`")]
    Limit { limit: &'static str, value: u64, unit: Unit },
    /// A rule of the contract.
    #[error("{rule}: {found}")]
    Rubbish { rule: &'static str, found: String },
    /// Nobody listens any more: the host has given up on the call.
    #[error("the host has given up on the call")]
    Gone,
}

impl Stop {
    pub(crate) fn limit(limit: &'static str, value: u64, unit: Unit) -> Self {
        Self::Limit { limit, value, unit }
    }

    pub(crate) fn rubbish(rule: &'static str, found: impl Into<String>) -> Self {
        Self::Rubbish { rule, found: found.into() }
    }

    pub(crate) fn stack(limits: &ModuleLimits) -> Self {
        Self::limit(STACK, limits.stack, Unit::Bytes)
    }

    pub(crate) fn hostcall(limits: &ModuleLimits) -> Self {
        Self::limit("hostcall-bytes", limits.hostcall_bytes, Unit::Bytes)
    }

    pub(crate) fn failure(&self, module: String) -> ModuleFailure {
        match self {
            Self::Limit { limit, value, unit } => ModuleFailure::Limit { module, limit, value: *value, unit: *unit },
            Self::Rubbish { rule, found } => ModuleFailure::Rubbish { module, rule, found: found.clone() },
            Self::Gone => ModuleFailure::Host(io::Error::other("the call was given up")),
        }
    }
}
