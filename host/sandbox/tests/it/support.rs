//! Shared helpers: the guest, a sandbox, and calls of modules.

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::OnceLock;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{
    CallStats, InputFile, LogLevel, Module, ModuleFailure, PluginInfo, PostProcess, Sandbox, SandboxConfig,
};
use serde_json::json;

/// Reads the file of a built guest.
pub(crate) fn guest_file(name: &str) -> Vec<u8> {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    let path = modules.join("guests").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("guest {}: {error}; run `cargo xtask setup` first", path.display()))
}

/// Returns a sandbox that most tests share, since an error in one call must not affect another.
pub(crate) fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::new(SandboxConfig::default()).unwrap())
}

/// Returns a separate sandbox with this number of slots.
pub(crate) fn small_sandbox(max_instances: u32) -> Sandbox {
    Sandbox::new(SandboxConfig { max_instances, ..SandboxConfig::default() }).unwrap()
}

/// Returns the module with all misbehaviors.
pub(crate) fn misbehave() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| sandbox().load("misbehave", &guest_file("misbehave.wasm")).unwrap())
}

/// Returns a plugin whose options select `behaviour`.
pub(crate) fn plugin(behaviour: Behaviour) -> PluginInfo {
    PluginInfo {
        name: "suspect".into(),
        driver: "Job".into(),
        format: "misbehave".into(),
        expected_results: 1,
        options: json!({ "behaviour": behaviour.name() }),
    }
}

/// Returns a file with this content.
pub(crate) fn file(path: &str, content: impl Into<Vec<u8>>) -> InputFile {
    let content = content.into();
    InputFile {
        path: path.into(),
        size: content.len() as u64,
        open: Box::new(|| Ok(Box::new(Cursor::new(content)) as Box<dyn Read + Send>)),
    }
}

/// Returns an endless file.
pub(crate) fn endless_file(path: &str) -> InputFile {
    InputFile { path: path.into(), size: 1, open: Box::new(|| Ok(Box::new(io::repeat(b'x')) as Box<dyn Read + Send>)) }
}

/// The outcome of a call.
pub(crate) struct Called {
    pub(crate) result: Result<CallStats, ModuleFailure>,
    pub(crate) items: Vec<FlatItem>,
    pub(crate) log: Vec<(LogLevel, String)>,
}

impl Called {
    /// Returns the message of the failure.
    pub(crate) fn failure(&self) -> String {
        self.result.as_ref().unwrap_err().to_string()
    }
}

/// Calls the post-processor of `module`.
pub(crate) fn call(module: &Module, plugin: &PluginInfo, files: Vec<InputFile>, limits: &ModuleLimits) -> Called {
    let (mut items, mut log) = (Vec::new(), Vec::new());
    let result = module.post_process(PostProcess { plugin, files, limits }, &mut items, &mut log);
    Called { result, items, log }
}

/// Calls `misbehave`.
pub(crate) fn run(behaviour: Behaviour, files: Vec<InputFile>, limits: &ModuleLimits) -> Called {
    call(misbehave(), &plugin(behaviour), files, limits)
}

/// Returns limits with a short wall-clock time, for modules that do not end by themselves.
pub(crate) fn one_second() -> ModuleLimits {
    ModuleLimits { wall_seconds: 1, ..ModuleLimits::default() }
}
