//! Two engine configurations with common settings: one for this machine, and one that compiles for
//! unknown machines.

use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;

use sha2::{Digest, Sha256};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmFeatures};

use crate::config::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES, SandboxConfig};

/// The address space that each linear memory reserves. With the guard region after it, code for
/// 32-bit memories needs no bounds checks.
const MEMORY_RESERVATION: u64 = 4 << 30;
/// The stack for host functions and the engine, in addition to the guest's: half of the default
/// stack of a Rust thread.
pub(crate) const HOST_STACK: usize = 1 << 20;
/// The maximum size in bytes of the metadata of one component instance with all its parts. It is a
/// limit and not a reservation. CPython's parts need less than 1 MiB.
const MAX_INSTANCE_METADATA: usize = 8 << 20;
/// The maximum number of frames of a trap's backtrace.
const MAX_FRAMES: usize = 16;

/// Creates the engine that compiles for this machine and runs modules.
pub(crate) fn native(config: &SandboxConfig) -> wasmtime::Result<Engine> {
    let instances = config.max_instances;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .max_component_instance_size(MAX_INSTANCE_METADATA)
        .max_core_instance_size(MAX_INSTANCE_METADATA)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .total_core_instances(instances.saturating_mul(MAX_CORE_INSTANCES))
        .max_memories_per_component(MAX_MEMORIES)
        .total_memories(instances.saturating_mul(MAX_MEMORIES))
        .max_memory_size(usize::try_from(config.max_memory).unwrap_or(usize::MAX))
        .max_tables_per_component(MAX_TABLES)
        .max_tables_per_module(MAX_TABLES)
        .total_tables(instances.saturating_mul(MAX_TABLES))
        .table_elements(usize::try_from(config.max_table_elements).unwrap_or(usize::MAX))
        // Calls are synchronous, so fibers are not used.
        .total_stacks(1);
    let mut settings = settings(config.stack);
    settings.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&settings)
}

/// The machines that compiled code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// This machine, with all features of its CPU.
    Native,
    /// Any machine of this architecture and operating system.
    Portable,
}

impl Target {
    /// Creates an engine that compiles for these machines but runs nothing. It reserves no memory.
    /// All settings but the target equal those of [`native`].
    pub(crate) fn compiler(self) -> wasmtime::Result<Engine> {
        let mut settings = settings(SandboxConfig::default().stack);
        if let (Self::Portable, Some(target)) = (self, PORTABLE_TARGET) {
            // Disables the detection of CPU features beyond the baseline of the architecture.
            settings.target(target)?;
        }
        Engine::new(&settings)
    }
}

/// The platform of this build, without any CPU features. `None` if no images are built for it.
/// Precompiled code then only fits similar CPUs, and others compile it themselves.
const PORTABLE_TARGET: Option<&str> = if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
    Some("x86_64-unknown-linux-gnu")
} else if cfg!(all(target_arch = "aarch64", target_os = "linux")) {
    Some("aarch64-unknown-linux-gnu")
} else if cfg!(all(target_arch = "x86_64", target_os = "macos")) {
    Some("x86_64-apple-darwin")
} else if cfg!(all(target_arch = "aarch64", target_os = "macos")) {
    Some("aarch64-apple-darwin")
} else {
    None
};

/// Returns the platform for which [`Sandbox::precompile`](crate::Sandbox::precompile) compiles, such
/// as `x86_64-unknown-linux-gnu`.
pub fn code_target() -> &'static str {
    PORTABLE_TARGET.unwrap_or(std::env::consts::ARCH)
}

/// Returns the common settings of all engines, on which compiled code depends. Defaults are stated
/// explicitly: a change of a default must not change what modules may do.
fn settings(stack: usize) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .wasm_simd(true)
        .wasm_bulk_memory(true)
        .wasm_multi_value(true)
        .wasm_features(WasmFeatures::REFERENCE_TYPES, true)
        .wasm_tail_call(true)
        .wasm_extended_const(true)
        // Results must not depend on the CPU.
        .wasm_relaxed_simd(false)
        // The engine connects nested components (JavaScript tools nest two) with generated code
        // that copies between two memories. Without this feature, it does not reject such a
        // component but panics.
        .wasm_multi_memory(true)
        // No current language runtime needs the features below, and each one adds code that may
        // have bugs.
        .wasm_memory64(false)
        .wasm_wide_arithmetic(false)
        .wasm_custom_page_sizes(false)
        .wasm_features(
            WasmFeatures::FUNCTION_REFERENCES
                .union(WasmFeatures::GC)
                .union(WasmFeatures::EXCEPTIONS)
                .union(WasmFeatures::CM_ASYNC),
            false,
        )
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .memory_reservation(MEMORY_RESERVATION)
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(NonZeroUsize::new(MAX_FRAMES))
        .max_wasm_stack(stack)
        // Not used, but validated against the setting above.
        .async_stack_size(stack.saturating_add(HOST_STACK));
    config
}

/// Returns a digest of everything that compiled code depends on: engine version, target, compiler
/// flags and features. Code loads only into engines with the same fingerprint.
pub(crate) fn fingerprint(engine: &Engine) -> [u8; 32] {
    let mut hasher = Sha256Hasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

/// Feeds `Hash` into SHA-256. The standard hasher is neither stable nor wide enough for a key on
/// disk.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
