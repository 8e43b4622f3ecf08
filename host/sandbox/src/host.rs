//! What all modules of a sandbox share.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use plumbline_core::ModuleLimits;
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::cache::Cache;
use crate::call::state::CallState;
use crate::config::SandboxConfig;
use crate::slots::Slots;
use crate::ticker::Ticker;

/// What modules share.
pub(crate) struct Host {
    pub(crate) config: SandboxConfig,
    pub(crate) engine: Engine,
    pub(crate) slots: Slots,
    pub(crate) ticker: Ticker,
    pub(crate) fingerprint: [u8; 32],
    /// Of the engine that compiles ahead of time; made when it is first asked for.
    pub(crate) portable: OnceLock<[u8; 32]>,
    pub(crate) cache: Option<Cache>,
    /// What a module without WASI may import, and a module with it.
    pub(crate) plain: Linker<CallState>,
    pub(crate) with_wasi: Linker<CallState>,
    pub(crate) compiled: AtomicU64,
    pub(crate) cached: AtomicU64,
    pub(crate) brought_along: AtomicU64,
}

impl Host {
    /// `limits`, as far as this sandbox grants them: slots have their size, and the stack is one for all.
    pub(crate) fn effective(&self, limits: &ModuleLimits) -> ModuleLimits {
        ModuleLimits {
            memory: limits.memory.min(self.config.max_memory),
            table_elements: limits.table_elements.min(u64::from(self.config.max_table_elements)),
            stack: self.config.stack as u64,
            ..limits.clone()
        }
    }
}
