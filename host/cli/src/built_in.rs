//! The sandbox and the built-in modules, as every command that reads results uses them.

use std::path::PathBuf;

use plumbline_aggregator::{LazyModule, Modules};
use plumbline_core::limits::{COMPILE_CPU_SECONDS, COMPILE_MEMORY, module_memory};
use plumbline_sandbox::{CompilerProcess, Sandbox, SandboxConfig};

use crate::error::CliError;
use crate::limits::Limits;
use crate::memory_limit::memory_limit;

/// The built-in modules in a sandbox; compiled code of other modules is cached below the user's cache directory.
pub(crate) fn modules(limits: &Limits) -> Result<Modules, CliError> {
    let (sandbox, built_in) = sandbox(limits)?;
    Ok(Modules::new(sandbox, built_in))
}

/// The sandbox itself, and the built-in modules, of which each module is loaded when it is first needed.
pub(crate) fn sandbox(limits: &Limits) -> Result<(Sandbox, Vec<LazyModule>), CliError> {
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
        .map_err(|error| CliError::system("failed to set up the sandbox for modules").because(&error))?;
    let built_in = plumbline_bundle::built_in::accept(&sandbox).map_err(|error| {
        CliError::system("failed to load the built-in modules").because(&error).hint("install this program again")
    })?;
    Ok((sandbox, built_in.into_iter().map(LazyModule::from).collect()))
}

/// This very program, also where its file was replaced meanwhile.
fn own_program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or(own) }
}

/// `$XDG_CACHE_HOME/plumbline/modules`, or `~/.cache/plumbline/modules`; without a home nothing is cached.
fn cache_dir() -> Option<PathBuf> {
    Some(cache_root()?.join("modules"))
}

/// The user's cache directory of this program, if there is a home.
pub(crate) fn cache_root() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("plumbline"))
}
