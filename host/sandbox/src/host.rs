//! The state that all modules of a sandbox share.

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

/// The state that all modules share.
pub(crate) struct Host {
    pub(crate) config: SandboxConfig,
    pub(crate) engine: Engine,
    pub(crate) slots: Slots,
    pub(crate) ticker: Ticker,
    pub(crate) fingerprint: [u8; 32],
    /// The fingerprint of the engine for precompiled code, created on first use.
    pub(crate) portable: OnceLock<[u8; 32]>,
    pub(crate) cache: Option<Cache>,
    /// The linkers for modules without and with WASI.
    pub(crate) plain: Linker<CallState>,
    pub(crate) with_wasi: Linker<CallState>,
    pub(crate) compiled: AtomicU64,
    pub(crate) cached: AtomicU64,
    pub(crate) brought_along: AtomicU64,
}

impl Host {
    /// Returns `limits` as far as this sandbox grants them. Slots have a fixed size, and the stack
    /// is the same for all.
    pub(crate) fn effective(&self, limits: &ModuleLimits) -> ModuleLimits {
        ModuleLimits {
            memory: limits.memory.min(self.config.max_memory),
            table_elements: limits.table_elements.min(u64::from(self.config.max_table_elements)),
            stack: self.config.stack as u64,
            ..limits.clone()
        }
    }
}
