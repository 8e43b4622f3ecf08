//! The sandbox with the built-in modules, as every use case that reads results needs it, within the
//! operator's limits: the defaults, or the values of a file (docs/limits.md).

use std::path::PathBuf;

use plumbline_aggregator::{LazyModule, LimitPolicy, Modules};
use plumbline_bundle::user_dir;
use plumbline_core::limits::{ARCHIVE_ENTRIES, COMPILE_CPU_SECONDS, COMPILE_MEMORY, module_memory};
use plumbline_core::{ModuleLimits, ReceiveLimits};
use plumbline_sandbox::{CompilerProcess, Sandbox, SandboxConfig};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{AppError, Explain as _};
use crate::files::{read_start_text, whole};
use crate::runtime::memory_limit;

/// Sets up the sandbox with the built-in modules. Compiled code of other modules is cached below
/// the user's cache directory.
pub fn modules(limits: &Limits) -> Result<Modules, AppError> {
    let (sandbox, built_in) = sandbox(limits)?;
    Ok(Modules::new(sandbox, built_in))
}

/// Sets up the sandbox, and the built-in modules separately. Each module is loaded when it is first
/// needed.
pub fn sandbox(limits: &Limits) -> Result<(Sandbox, Vec<LazyModule>), AppError> {
    let config = config(&limits.modules.cap, limits.modules.default.stack);
    let sandbox = new_sandbox(SandboxConfig { cache_dir: module_cache(), ..config })?;
    let built_in = plumbline_bundle::built_in::accept(&sandbox)
        .system_error("failed to load the built-in modules")
        .hint("install this program again")?;
    Ok((sandbox, built_in.into_iter().map(LazyModule::from).collect()))
}

/// Sets up the sandbox for one check with these limits. Compiled code is cached if `cached`.
pub(crate) fn check_sandbox(limits: &ModuleLimits, cached: bool) -> Result<Sandbox, AppError> {
    let cache_dir = if cached { module_cache() } else { None };
    new_sandbox(SandboxConfig { cache_dir, max_instances: 1, ..config(limits, limits.stack) })
}

/// The settings of all sandboxes: components are compiled by a process of this program.
fn config(cap: &ModuleLimits, stack: u64) -> SandboxConfig {
    SandboxConfig {
        max_memory: cap.memory,
        max_table_elements: u32::try_from(cap.table_elements).unwrap_or(u32::MAX),
        stack: usize::try_from(stack).unwrap_or(usize::MAX),
        memory_budget: memory_limit().map(module_memory),
        compiler: Some(CompilerProcess {
            program: own_program(),
            args: vec!["compile-module".into()],
            memory: COMPILE_MEMORY,
            cpu_seconds: COMPILE_CPU_SECONDS,
        }),
        ..SandboxConfig::default()
    }
}

fn new_sandbox(config: SandboxConfig) -> Result<Sandbox, AppError> {
    Sandbox::new(config).map_err(|error| {
        AppError::system("failed to set up the sandbox for modules").because(&error).hint_if(error.hint())
    })
}

/// The directory of compiled modules. Without a home directory, nothing is cached.
fn module_cache() -> Option<PathBuf> {
    cache_root().map(|cache| cache.join("modules"))
}

/// The running program, even if its file was replaced since it started.
fn own_program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or(own) }
}

/// The user's cache directory of Plumbline (XDG Base Directory Specification). `None` without a
/// home directory.
pub fn cache_root() -> Option<PathBuf> {
    Some(user_dir("XDG_CACHE_HOME", ".cache")?.join("plumbline"))
}

/// The largest file, in bytes. All keys together take about 1 KiB.
const MAX_BYTES: u64 = 1 << 20;

/// The maximum of [`ReceiveLimits::run_entries`]. The other half of an archive is for the documents of
/// the run.
const MAX_RUN_ENTRIES: u64 = ARCHIVE_ENTRIES / 2;

/// Limits on what comes from others: modules and uploads.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// What modules may use.
    pub modules: LimitPolicy,
    /// What uploads may use.
    pub uploads: ReceiveLimits,
}

/// The content of the file. Keys that it omits keep their defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Document {
    modules: Map<String, Value>,
    cap: Map<String, Value>,
    uploads: Map<String, Value>,
}

/// The file with the operator's limits.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LimitsFile {
    /// Limits on modules and uploads, as YAML or JSON (docs/limits.md) [default: built-in limits]
    #[arg(long, env = "PLUMBLINE_LIMITS", value_name = "FILE")]
    pub limits: Option<PathBuf>,
}

impl LimitsFile {
    /// Reads the file; without one, the limits are the defaults.
    pub fn load(&self) -> Result<Limits, AppError> {
        let Some(path) = &self.limits else { return Ok(Limits::default()) };
        let wrong = |error: &dyn std::error::Error| {
            AppError::usage(format!("invalid limits in `{}`", path.display()))
                .because(error)
                .hint("see docs/limits.md for the keys")
        };
        let read = read_start_text(path, MAX_BYTES + 1).and_then(|text| whole(text, MAX_BYTES));
        let text = read.map_err(|error| wrong(&error))?;
        let document: Document = serde_saphyr::from_str(&text).map_err(|error| wrong(&error))?;
        let modules = LimitPolicy {
            default: overlay(&ModuleLimits::default(), document.modules).map_err(|error| wrong(&error))?,
            cap: overlay(&ModuleLimits::cap(), document.cap).map_err(|error| wrong(&error))?,
        };
        let uploads: ReceiveLimits =
            overlay(&ReceiveLimits::default(), document.uploads).map_err(|error| wrong(&error))?;
        if uploads.run_entries > MAX_RUN_ENTRIES {
            return Err(AppError::usage(format!("invalid limits in `{}`", path.display()))
                .cause(format!("`run-entries` is {}, but the maximum is {MAX_RUN_ENTRIES}", uploads.run_entries))
                .hint("use a lower number: archives with more files cannot be read"));
        }
        Ok(Limits { modules, uploads })
    }
}

/// Replaces values of `base` by those of `over`. A key that `base` does not have is an error.
fn overlay<T: Serialize + DeserializeOwned>(base: &T, over: Map<String, Value>) -> Result<T, serde_json::Error> {
    let mut value = serde_json::to_value(base)?;
    if let Value::Object(fields) = &mut value {
        fields.extend(over);
    }
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn load(text: &str) -> Result<Limits, AppError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        LimitsFile { limits: Some(file.path().to_owned()) }.load()
    }

    #[test]
    fn only_limits_in_the_file_replace_the_defaults() {
        let limits = load("modules: {memory: 1048576}\ncap: {depth: 9}\nuploads: {entries: 3}\n").unwrap();
        assert_eq!(limits.modules.default, ModuleLimits { memory: 1 << 20, ..ModuleLimits::default() });
        assert_eq!(limits.modules.cap, ModuleLimits { depth: 9, ..ModuleLimits::cap() });
        assert_eq!(limits.uploads, ReceiveLimits { entries: 3, ..ReceiveLimits::default() });
    }

    #[test]
    fn an_unknown_limit_is_named() {
        for (text, name) in
            [("modules: {memroy: 1}", "memroy"), ("module: {}", "module"), ("cap: {items: many}", "many")]
        {
            let error = load(text).unwrap_err().in_full();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_run_cannot_have_more_files_than_its_archive() {
        assert_eq!(load("uploads: {run-entries: 1000000}").unwrap().uploads.run_entries, MAX_RUN_ENTRIES);
        let error = load("uploads: {run-entries: 1000001}").unwrap_err().in_full();
        assert!(error.contains("`run-entries` is 1000001, but the maximum is 1000000"), "{error}");
    }

    #[test]
    fn the_end_of_a_long_file_is_not_ignored() {
        let padding = "#\n".repeat(1 << 19);
        let error = load(&format!("{padding}uploads: {{entries: 3}}\n")).unwrap_err().in_full();
        assert!(error.contains("it has more than 1 MiB"), "{error}");
    }

    #[test]
    fn without_a_file_the_defaults_hold() {
        assert_eq!(LimitsFile::default().load().unwrap().uploads, ReceiveLimits::default());
    }
}
