//! Settings of a sandbox: what is the same for all modules.

use std::path::PathBuf;

use plumbline_core::limits::MAX_COMPONENT_BYTES;

use crate::compiler::CompilerProcess;
use crate::error::SandboxError;

const KIB: usize = 1 << 10;
/// A page of linear memory: sizes are rounded up to it.
pub(crate) const WASM_PAGE: u64 = 64 << 10;
/// The address space of a 32-bit memory: no slot can be larger.
const MAX_SLOT_BYTES: u64 = 4 << 30;
/// The smallest stack on which language runtimes start.
const MIN_STACK: usize = 64 * KIB;
/// The largest stack: each call in flight reserves one.
const MAX_STACK: usize = 64 << 20;
/// Calls in flight that can be asked for. Each one reserves 4 GiB of address space per memory; 47 bits of it exist.
const MAX_INSTANCES: u32 = 1000;

/// Settings of a sandbox. What a single call may use is said by [`ModuleLimits`](plumbline_core::ModuleLimits); the sizes here are the
/// operator's cap on it, since they say how large a slot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Where compiled code is kept between runs; made with mode 0700 if it is not there. `None`, the default: nowhere. A
    /// directory that belongs to somebody else, or that others may write to, is not used, and a warning is logged.
    pub cache_dir: Option<PathBuf>,
    /// Bytes of all entries of the cache together; the ones not used for longest go first. Default 1 GiB: a component of CPython
    /// compiles to about 60 MiB.
    pub max_cache_bytes: u64,
    /// Compiles components in a process of its own, with limits on memory and time. `None`, the default: they are compiled in this
    /// process, without limits.
    pub compiler: Option<CompilerProcess>,
    /// Memory for calls and compilations that run at once, in bytes: each reserves as much as its limit allows, and waits until that
    /// is free. `None`, the default: only their number is bounded.
    pub memory_budget: Option<u64>,
    /// The largest component that is looked at, in bytes. Default
    /// [`MAX_COMPONENT_BYTES`](plumbline_core::limits::MAX_COMPONENT_BYTES), 64 MiB.
    pub max_component_bytes: u64,
    /// Calls that run at once; further ones wait for a slot. At most 1,000. Default 32: more than the cores of most machines
    /// that aggregate, and memory in use is bounded by this times [`SandboxConfig::max_memory`].
    pub max_instances: u32,
    /// Stack of a guest in bytes, for every module of this sandbox; from 64 KiB to 64 MiB. Default 1 MiB.
    pub stack: usize,
    /// The most linear memory that any call can be given, in bytes, at most 4 GiB. Default 1 GiB. A call that is allowed more gets
    /// this much.
    pub max_memory: u64,
    /// The most elements of tables that any call can be given. Default 250,000.
    pub max_table_elements: u32,
    /// Core instances that one component may consist of. Default 256: components of Python are linked from some dozens.
    pub max_core_instances: u32,
    /// Component instances that one component may consist of. Default 1,000: tools that compose components stay below fifty.
    pub max_component_instances: u32,
    /// Linear memories of one component. Default 4: one is the rule, composed components have one each.
    pub max_memories: u32,
    /// Tables of one component. Default 16: one or two per part.
    pub max_tables: u32,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            max_cache_bytes: 1 << 30,
            compiler: None,
            memory_budget: None,
            max_component_bytes: MAX_COMPONENT_BYTES,
            max_instances: 32,
            stack: 1 << 20,
            max_memory: 1 << 30,
            max_table_elements: 250_000,
            max_core_instances: 256,
            max_component_instances: 1_000,
            max_memories: 4,
            max_tables: 16,
        }
    }
}

impl SandboxConfig {
    /// The same settings, with sizes rounded up to whole pages.
    pub(crate) fn checked(mut self) -> Result<Self, SandboxError> {
        within("max_instances", u64::from(self.max_instances), 1, u64::from(MAX_INSTANCES))?;
        within("stack", self.stack as u64, MIN_STACK as u64, MAX_STACK as u64)?;
        within("max_memory", self.max_memory, WASM_PAGE, MAX_SLOT_BYTES)?;
        within("max_component_bytes", self.max_component_bytes, 1, u64::from(u32::MAX))?;
        within("max_core_instances", u64::from(self.max_core_instances), 1, 10_000)?;
        within("max_memories", u64::from(self.max_memories), 1, 100)?;
        within("max_tables", u64::from(self.max_tables), 1, 1_000)?;
        // A call cannot have more than there is for all of them together.
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
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        let error = SandboxConfig { stack: 1, ..SandboxConfig::default() }.checked().unwrap_err();
        assert_eq!(error.to_string(), "setting `stack` is out of range: 1 (allowed: 65536 to 67108864)");
        assert!(SandboxConfig { max_instances: 0, ..SandboxConfig::default() }.checked().is_err());
        assert!(SandboxConfig { max_memory: 5 << 30, ..SandboxConfig::default() }.checked().is_err());
    }

    #[test]
    fn memory_is_rounded_up_to_whole_pages() {
        let config = SandboxConfig { max_memory: WASM_PAGE + 1, ..SandboxConfig::default() }.checked().unwrap();
        assert_eq!(config.max_memory, 2 * WASM_PAGE);
    }
}
