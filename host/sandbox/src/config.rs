//! The settings of a sandbox, which apply to all modules.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::SandboxError;

const KIB: usize = 1 << 10;
/// The size of a page of linear memory. Sizes are rounded up to it.
pub(crate) const WASM_PAGE: u64 = 64 << 10;
/// The address space of a 32-bit memory, which is the maximum size of a slot.
const MAX_SLOT_BYTES: u64 = 4 << 30;
/// The minimum stack with which language runtimes start.
const MIN_STACK: usize = 64 * KIB;
/// The maximum stack. Each call in flight reserves one.
const MAX_STACK: usize = 64 << 20;
/// The maximum number of calls in flight. Each one reserves 4 GiB of address space per memory, out
/// of 47 bits.
const MAX_INSTANCES: u32 = 1000;
/// The maximum size of the compile cache in bytes: 1 GiB. A component of CPython compiles to about
/// 60 MiB.
pub(crate) const MAX_CACHE_BYTES: u64 = 1 << 30;
/// The maximum number of core instances of one component. Those of Python are linked from a few
/// dozen.
pub(crate) const MAX_CORE_INSTANCES: u32 = 256;
/// The maximum number of component instances of one component. Tools that compose components stay
/// below fifty.
pub(crate) const MAX_COMPONENT_INSTANCES: u32 = 1_000;
/// The maximum number of linear memories of one component. One is the rule, and composed components
/// have one each.
pub(crate) const MAX_MEMORIES: u32 = 4;
/// The maximum number of tables of one component: one or two per part.
pub(crate) const MAX_TABLES: u32 = 16;

/// The settings of a sandbox. [`ModuleLimits`](plumbline_core::ModuleLimits) limits a single call.
/// The sizes here cap these limits, since they determine the size of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// The directory for compiled code, created with mode 0700 if it does not exist. `None`, the
    /// default, disables the cache. If the directory belongs to another user, or others may write
    /// to it, it is not used, and a warning is logged.
    pub cache_dir: Option<PathBuf>,
    /// Compiles components in a separate process, with limits on memory and time. With `None`, the
    /// default, they are compiled in this process without limits.
    pub compiler: Option<CompilerProcess>,
    /// The memory in bytes for concurrent calls and compilations. Each reserves as much as its
    /// limit allows, and waits until that is free. With `None`, the default, only the number of
    /// calls is limited.
    pub memory_budget: Option<u64>,
    /// The maximum number of concurrent calls. Further ones wait for a slot. At most 1,000.
    ///
    /// Default 32, more than the cores of most machines that aggregate. The memory in use is at
    /// most this number times [`SandboxConfig::max_memory`].
    pub max_instances: u32,
    /// The stack of a guest in bytes, for every module of this sandbox, from 64 KiB to 64 MiB.
    /// Default 1 MiB.
    pub stack: usize,
    /// The maximum linear memory of a call in bytes, at most 4 GiB. Default 1 GiB. Larger limits of
    /// a call are lowered to it.
    pub max_memory: u64,
    /// The maximum number of table elements of a call. Default 250,000.
    pub max_table_elements: u32,
}

/// The settings of the separate process that compiles components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerProcess {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments. Those of [`crate::compile_stdin`] are appended: bytes of memory, seconds of CPU
    /// time, and `--portable` if the code is for other machines.
    pub args: Vec<OsString>,
    /// The memory that compiling one component may take, in bytes.
    pub memory: u64,
    /// The CPU time that compiling one component may take, in seconds. The wall-clock limit is four
    /// times as long.
    pub cpu_seconds: u64,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            compiler: None,
            memory_budget: None,
            max_instances: 32,
            stack: 1 << 20,
            max_memory: 1 << 30,
            max_table_elements: 250_000,
        }
    }
}

impl SandboxConfig {
    /// Validates the settings and rounds sizes up to whole pages.
    pub(crate) fn checked(mut self) -> Result<Self, SandboxError> {
        within("max_instances", u64::from(self.max_instances), 1, u64::from(MAX_INSTANCES))?;
        within("stack", self.stack as u64, MIN_STACK as u64, MAX_STACK as u64)?;
        within("max_memory", self.max_memory, WASM_PAGE, MAX_SLOT_BYTES)?;
        // A call cannot have more memory than the total budget.
        if let Some(budget) = self.memory_budget {
            within("memory_budget", budget, WASM_PAGE, u64::MAX)?;
            self.max_memory = self.max_memory.min(budget - budget % WASM_PAGE);
            if let Some(compiler) = &mut self.compiler {
                compiler.memory = compiler.memory.min(budget);
            }
        }
        self.max_memory = self.max_memory.next_multiple_of(WASM_PAGE);
        Ok(self)
    }
}

fn within(setting: &'static str, value: u64, min: u64, max: u64) -> Result<(), SandboxError> {
    if (min..=max).contains(&value) { Ok(()) } else { Err(SandboxError::Setting { setting, value, min, max }) }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
