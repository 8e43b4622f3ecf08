//! Errors of a call, and the text of the error item that reports each.

use std::io;

use plumbline_core::ModuleLimits;
use plumbline_core::text::Printable;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// The maximum length in bytes of an error from a module.
pub(crate) const MAX_SENTENCE: usize = 16 << 10;
/// The maximum length in bytes of an engine's message.
const MAX_CAUSE: usize = 1 << 10;
/// The name of the limit on different statuses.
pub(crate) const STATUSES: &str = "statuses";
/// The name of the limit on open files.
pub(crate) const OPEN_FILES: &str = "open-files";
/// The name of the stack limit in a definition.
const STACK: &str = "stack";
/// The hint for a violation that only the author can fix.
const DEFECT: &str = "this is a defect of the module: report it to the author";

/// Error of a call. Items that were already emitted remain, and other calls are not affected.
///
/// The message names the module and, if one was exceeded, the limit. [`ModuleFailure::hint`] says
/// how to fix the problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleFailure {
    /// The module exceeded a limit.
    #[error("module `{module}` exceeded its limit `{limit}`: {}", unit.show(*value))]
    Limit {
        /// The name of the module.
        module: String,
        /// The field of [`ModuleLimits`](plumbline_core::ModuleLimits), as written in a definition.
        limit: &'static str,
        /// The value of the limit.
        value: u64,
        /// The unit of the value.
        unit: Unit,
    },
    /// The module crashed.
    #[error("module `{module}` crashed: {trap}")]
    Trap {
        /// The name of the module.
        module: String,
        /// The reason.
        trap: String,
        /// The innermost functions of the module, if it has names for them.
        frames: Vec<String>,
        /// How to fix the problem, for known kinds of crashes.
        hint: Option<&'static str>,
    },
    /// The output of the module violates the contract.
    #[error("module `{module}` violated the contract: {rule}: {found}")]
    ContractViolation {
        /// The name of the module.
        module: String,
        /// The violated rule.
        rule: &'static str,
        /// The position and details.
        found: String,
    },
    /// The module returned an error, with this message.
    #[error("{0}")]
    Refused(String),
    /// The module does not implement the role.
    #[error("module `{module}` does not implement the role `{role}`")]
    NoRole {
        /// The name of the module.
        module: String,
        /// `post-processor`, `expectations`, `summarizer`, `judge` or `check`.
        role: &'static str,
    },
    /// The host failed, and not the module: the sink could not store an item, or no thread could be
    /// started.
    #[error("failed to run the module: {0}")]
    Host(#[source] io::Error),
}

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Seconds of wall-clock time.
    Seconds,
    /// Bytes.
    Bytes,
    /// Table elements.
    Elements,
    /// Items of the result tree.
    Items,
    /// Levels of the result tree.
    Levels,
    /// Different statuses.
    Statuses,
    /// Open files and directories.
    Files,
}

impl Unit {
    /// Formats a value with its unit. Bytes are shown in KiB, MiB or GiB if that is a round number.
    fn show(self, value: u64) -> String {
        let (one, many) = match self {
            Self::Seconds => ("second", "seconds"),
            Self::Bytes => return show_bytes(value),
            Self::Elements => ("element", "elements"),
            Self::Items => ("item", "items"),
            Self::Levels => ("level", "levels"),
            Self::Statuses => ("status", "different statuses"),
            Self::Files => ("file", "files"),
        };
        format!("{value} {}", if value == 1 { one } else { many })
    }
}

fn show_bytes(value: u64) -> String {
    let larger = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match larger.iter().find(|(shift, _)| value != 0 && value.trailing_zeros() >= *shift) {
        Some((shift, unit)) => format!("{} {unit}", value >> shift),
        None if value == 1 => "1 byte".into(),
        None => format!("{value} bytes"),
    }
}

impl ModuleFailure {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Limit { limit, .. } if *limit == STACK => {
                Some("reduce the depth of its recursion; only the operator can raise the stack size")
            }
            Self::Limit { limit, .. } if *limit == STATUSES => {
                Some("this limit is fixed: put values that differ between items into meta or details")
            }
            Self::Limit { limit, .. } if *limit == OPEN_FILES => {
                Some("this limit is fixed: close files and directories that the check has read")
            }
            Self::Limit { .. } => {
                Some("raise the limit under `plumbline.limits` of the definition, up to the operator's cap")
            }
            Self::Trap { hint, .. } => *hint,
            Self::ContractViolation { .. } => Some(DEFECT),
            Self::NoRole { .. } => Some("choose a module that exports this role"),
            Self::Refused(_) | Self::Host(_) => None,
        }
    }

    /// Converts an error of the engine that ended a call of `module` under `limits`.
    pub(crate) fn from_engine(module: &str, limits: &ModuleLimits, error: &wasmtime::Error) -> Self {
        let module = module.to_owned();
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return stop.failure(module);
        }
        if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
            let trap = format!("it called `exit` with code {code}, which is not allowed");
            return Self::Trap {
                module,
                trap,
                frames: Vec::new(),
                hint: Some("return from the role's function instead"),
            };
        }
        if let Some(trap) = error.downcast_ref::<Trap>() {
            return Self::from_trap(module, limits, *trap, frames(error));
        }
        // The engine has no public types for these errors.
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let says = |words: &str| causes.iter().any(|cause| cause.contains(words));
        if says("fuel allocated for hostcalls has been exhausted") {
            return Stop::limit("hostcall-bytes", limits.hostcall_bytes, Unit::Bytes).failure(module);
        }
        if says("invalid utf-8") || says("unpaired surrogate") {
            let found = cut(causes.last().map_or("", String::as_str), MAX_CAUSE);
            return Self::ContractViolation { module, rule: "text must be valid Unicode", found };
        }
        let trap = cut(causes.last().map_or("", String::as_str), MAX_CAUSE);
        Self::Trap { module, trap, frames: frames(error), hint: Some(DEFECT) }
    }

    fn from_trap(module: String, limits: &ModuleLimits, trap: Trap, frames: Vec<String>) -> Self {
        let (cause, hint) = match trap {
            Trap::StackOverflow => return Stop::limit(STACK, limits.stack, Unit::Bytes).failure(module),
            Trap::UnreachableCodeReached => {
                ("it panicked or aborted (`unreachable`)", "see the module's last lines in the log")
            }
            Trap::MemoryOutOfBounds => (
                "it accessed memory out of bounds",
                "deep recursion can be the cause: Rust and C programs keep a stack in this memory",
            ),
            Trap::CannotEnterComponent | Trap::CannotLeaveComponent => {
                ("it called the host while it received data, or after it returned", DEFECT)
            }
            Trap::StringOutOfBounds | Trap::ListOutOfBounds | Trap::UnalignedPointer => {
                ("it passed a pointer outside of its memory", DEFECT)
            }
            other => return Self::Trap { module, trap: other.to_string(), frames, hint: Some(DEFECT) },
        };
        Self::Trap { module, trap: cause.to_owned(), frames, hint: Some(hint) }
    }
}

fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(trace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    trace.frames().iter().filter_map(|frame| frame.func_name()).map(|name| cut(name, MAX_CAUSE)).collect()
}

/// Cuts `text` to at most `max` bytes and marks the cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(max)).unwrap_or_default();
    format!("{kept}… ({} bytes in all)", text.len())
}

/// Quotes the first `max` bytes of a module's text for a message.
pub(crate) fn quoted(text: &str, max: usize) -> String {
    format!("`{}`", Printable::escaped(&cut(text, max), usize::MAX))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("limit `{limit}`")]
    Limit { limit: &'static str, value: u64, unit: Unit },
    #[error("{rule}: {found}")]
    ContractViolation { rule: &'static str, found: String },
    #[error("the host cancelled the call")]
    Gone,
}

impl Stop {
    pub(crate) fn limit(limit: &'static str, value: u64, unit: Unit) -> Self {
        Self::Limit { limit, value, unit }
    }

    pub(crate) fn rubbish(rule: &'static str, found: impl Into<String>) -> Self {
        Self::ContractViolation { rule, found: found.into() }
    }

    pub(crate) fn failure(&self, module: String) -> ModuleFailure {
        match self {
            Self::Limit { limit, value, unit } => ModuleFailure::Limit { module, limit, value: *value, unit: *unit },
            Self::ContractViolation { rule, found } => {
                ModuleFailure::ContractViolation { module, rule, found: found.clone() }
            }
            Self::Gone => ModuleFailure::Host(io::Error::other("the call was cancelled")),
        }
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
