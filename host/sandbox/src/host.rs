//! What a sandbox and its modules share.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::cache::Cache;
use crate::call::state::CallState;
use crate::config::SandboxConfig;
use crate::slots::Slots;
use crate::ticker::Ticker;

/// The engine of a sandbox, with its limits, cache and statistics.
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
