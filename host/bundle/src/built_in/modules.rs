//! The built-in modules.

use plumbline_sandbox::{Accepted, LoadError, Module, Sandbox};

/// A module that is embedded in this program.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// Name of the module.
    pub name: &'static str,
    /// The WebAssembly component.
    pub wasm: &'static [u8],
    /// The component, compiled for the sandbox of this version. A machine that it does not fit
    /// compiles the component again.
    pub compiled: &'static [u8],
}

/// Error while loading a built-in module. It means that the program is damaged.
#[derive(Debug, thiserror::Error)]
#[error("failed to load built-in module `{name}`: {source}")]
pub struct BuiltInError {
    /// Name of the module.
    pub name: &'static str,
    /// The underlying error.
    pub source: LoadError,
}

static MODULES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// Returns the built-in modules as bytes.
#[must_use]
pub fn embedded() -> &'static [Embedded] {
    MODULES
}

/// Loads the built-in modules into `sandbox`.
///
/// # Errors
/// [`BuiltInError`] when the program is damaged.
pub fn load(sandbox: &Sandbox) -> Result<Vec<Module>, BuiltInError> {
    MODULES
        .iter()
        .map(|module| {
            sandbox
                .load_precompiled(module.name, module.wasm, module.compiled)
                .map_err(|source| BuiltInError { name: module.name, source })
        })
        .collect()
}

/// Inspects the built-in modules without loading them. Each module is loaded when it is first
/// needed. Most modules are never needed in a run.
///
/// # Errors
/// [`BuiltInError`] when the program is damaged.
pub fn accept(sandbox: &Sandbox) -> Result<Vec<Accepted>, BuiltInError> {
    MODULES
        .iter()
        .map(|module| {
            sandbox
                .accept_precompiled(module.name, module.wasm, module.compiled)
                .map_err(|source| BuiltInError { name: module.name, source })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbline_sandbox::SandboxConfig;

    #[test]
    fn every_built_in_module_loads_without_being_compiled_and_says_what_it_is() {
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let modules = load(&sandbox).unwrap();
        let accepted = accept(&sandbox).unwrap();
        let later: Vec<Module> = accepted.into_iter().map(|module| module.load().unwrap()).collect();
        assert_eq!(sandbox.stats().compiled, 0, "embedded machine code fits the sandbox of the same build");
        assert!(later.iter().map(Module::info).eq(modules.iter().map(Module::info)));
        let roles: Vec<_> = modules
            .iter()
            .map(|module| {
                let info = module.info();
                (info.name.clone().unwrap(), info.roles)
            })
            .collect();
        let names: Vec<_> = roles
            .iter()
            .map(|(name, roles)| {
                (name.as_str(), roles.post_processor, roles.expectations, roles.summarizer, roles.judge)
            })
            .collect();
        assert_eq!(
            names,
            [
                ("junit", true, false, false, false),
                ("gojson", true, false, false, false),
                ("tap", true, false, false, false),
                ("sarif", true, false, false, false),
                ("ctrf", true, false, false, false),
                ("raw", true, false, false, false),
                ("manual", true, false, false, false),
                ("host-facts", true, false, true, false),
                ("systemd-logs", true, false, false, false),
                ("job", false, true, false, false),
                ("daemonset", false, true, false, false),
                ("known-failures", false, false, false, true),
                ("checks", false, false, false, true)
            ]
        );
        for module in &modules {
            assert!(
                module.info().imports.iter().all(|import| !import.starts_with("wasi:")),
                "{:?}",
                module.info().imports
            );
        }
        assert!(modules[0].info().formats.contains(&"e2e".to_owned()));
    }
}
