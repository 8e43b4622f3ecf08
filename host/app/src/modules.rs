//! The sandbox with the built-in modules, as every use case that reads results needs it.

use std::path::PathBuf;

use plumbline_aggregator::{LazyModule, Modules};
use plumbline_core::limits::{COMPILE_CPU_SECONDS, COMPILE_MEMORY, module_memory};
use plumbline_sandbox::{CompilerProcess, Sandbox, SandboxConfig};

use crate::error::AppError;
use crate::limits::Limits;
use crate::memory_limit::memory_limit;

/// Sets up the sandbox with the built-in modules. Compiled code of other modules is cached below
/// the user's cache directory.
///
/// # Errors
/// The sandbox cannot be set up, or the built-in modules are damaged.
pub fn modules(limits: &Limits) -> Result<Modules, AppError> {
    let (sandbox, built_in) = sandbox(limits)?;
    Ok(Modules::new(sandbox, built_in))
}

/// Sets up the sandbox, and the built-in modules separately. Each module is loaded when it is first
/// needed.
///
/// # Errors
/// As for [`modules`].
pub fn sandbox(limits: &Limits) -> Result<(Sandbox, Vec<LazyModule>), AppError> {
    let default = SandboxConfig::default();
    let cap = &limits.modules.cap;
    let config = SandboxConfig {
        cache_dir: cache_dir(),
        max_memory: cap.memory,
        max_table_elements: u32::try_from(cap.table_elements).unwrap_or(u32::MAX),
        stack: usize::try_from(limits.modules.default.stack).unwrap_or(usize::MAX),
        memory_budget: memory_limit().map(module_memory),
        compiler: Some(CompilerProcess {
            program: own_program(),
            args: vec!["compile-module".into()],
            memory: COMPILE_MEMORY,
            cpu_seconds: COMPILE_CPU_SECONDS,
        }),
        ..default
    };
    let sandbox = Sandbox::new(config)
        .map_err(|error| AppError::system("failed to set up the sandbox for modules").because(&error))?;
    let built_in = plumbline_bundle::built_in::accept(&sandbox).map_err(|error| {
        AppError::system("failed to load the built-in modules").because(&error).hint("install this program again")
    })?;
    Ok((sandbox, built_in.into_iter().map(LazyModule::from).collect()))
}

/// The running program, even if its file was replaced since it started.
fn own_program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or(own) }
}

/// `$XDG_CACHE_HOME/plumbline/modules`, or `~/.cache/plumbline/modules`. Without a home directory,
/// nothing is cached.
fn cache_dir() -> Option<PathBuf> {
    Some(cache_root()?.join("modules"))
}

/// The user's cache directory of Plumbline (XDG Base Directory Specification). `None` without a
/// home directory.
#[must_use]
pub fn cache_root() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("plumbline"))
}
