//! Loads components.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use wasmtime::component::{Component, InstancePre, Linker};

use crate::cache::{Cache, Key};
use crate::call::state::CallState;
use crate::code::{self, CodeError, Origin};
use crate::compiler::CompilerError;
use crate::config::SandboxConfig;
use crate::error::{LoadError, SandboxError};
use crate::generation::{self, v0_1};
use crate::host::Host;
use crate::inspect::{Inspected, Roles, Shape, inspect_all};
use crate::module::Module;
use crate::slots::Slots;
use crate::ticker::Ticker;
use crate::{engine, imports, wasi};

/// An engine with its limits, cache and clock. It is cheap to clone, and clones share the same
/// sandbox.
#[derive(Clone)]
pub struct Sandbox {
    host: Arc<Host>,
}

/// Statistics on where the code of components came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of compiled components.
    pub compiled: u64,
    /// The number of components whose code was in the cache.
    pub cached: u64,
    /// The number of components whose code is embedded in the program.
    pub precompiled: u64,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("config", &self.host.config)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Creates a sandbox with these settings. It reserves address space for all its slots, but no
    /// memory.
    ///
    /// An unusable cache directory is not an error: a warning is logged, and everything is
    /// compiled.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range, or if the machine refuses the reservation.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let config = config.checked()?;
        let engine = engine::native(&config).map_err(|error| SandboxError::Engine { reason: words(&error) })?;
        let interface = |error: wasmtime::Error| SandboxError::Interface { reason: words(&error) };
        let mut plain = Linker::new(&engine);
        v0_1::add_to_linker(&mut plain).map_err(interface)?;
        let mut with_wasi = plain.clone();
        wasi::add_to_linker(&mut with_wasi).map_err(interface)?;
        let cache = config.cache_dir.as_deref().and_then(|path| {
            let cache = Cache::open(path, config.max_cache_bytes);
            cache
                .inspect_err(|error| {
                    tracing::warn!(cache = %path.display(), "the cache for compiled modules is not used: {error}");
                })
                .ok()
        });
        Ok(Self {
            host: Arc::new(Host {
                slots: Slots::new(config.max_instances, config.memory_budget),
                ticker: Ticker::start(&engine).map_err(SandboxError::Ticker)?,
                fingerprint: engine::fingerprint(&engine),
                portable: OnceLock::new(),
                config,
                engine,
                cache,
                plain,
                with_wasi,
                compiled: AtomicU64::new(0),
                cached: AtomicU64::new(0),
                brought_along: AtomicU64::new(0),
            }),
        })
    }

    /// Checks a component, compiles it (or loads its code from the cache) and links it. Errors
    /// refer to it as `name`.
    ///
    /// # Errors
    ///
    /// Returns an error if the data is too large or not a valid component. The same applies if it
    /// imports something that is not available, was built for another generation of the interface,
    /// or implements no role. No code of it has run.
    pub fn load(&self, name: &str, wasm: &[u8]) -> Result<Module, LoadError> {
        let inspected = self.check(name, wasm)?;
        let component = self.compile(name, wasm, &inspected.digest)?;
        self.link(name, inspected, &component)
    }

    /// Loads a component like [`Sandbox::load`], with code from [`Sandbox::precompile`] that is
    /// embedded in this program. Code for another version, machine or component is ignored, and the
    /// component is compiled.
    ///
    /// `code` must be what [`Sandbox::precompile`] returned, embedded when the program was built.
    /// It is machine code and is executed as is. Never pass bytes that were read at run time from
    /// anywhere. The `'static` lifetime makes that hard to do by accident.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Sandbox::load`].
    pub fn load_precompiled(&self, name: &str, wasm: &[u8], code: &'static [u8]) -> Result<Module, LoadError> {
        let inspected = self.check(name, wasm)?;
        let component = self.brought_along(name, wasm, &inspected.digest, code)?;
        self.link(name, inspected, &component)
    }

    /// Loads the component from `code` if it matches, and compiles it otherwise.
    pub(crate) fn brought_along(
        &self,
        name: &str,
        wasm: &[u8],
        digest: &[u8; 32],
        code: &'static [u8],
    ) -> Result<Component, LoadError> {
        let fitting = self.portable_fingerprint().and_then(|engine| {
            let key = Key { engine, component: *digest };
            code::brought_along(&self.host.engine, code, &key)
        });
        match fitting {
            Ok(component) => {
                self.host.brought_along.fetch_add(1, Ordering::Relaxed);
                Ok(component)
            }
            Err(reason) => {
                tracing::info!(module = name, "code that was compiled ahead of time is not used: {reason}");
                self.compile(name, wasm, digest)
            }
        }
    }

    /// Compiles a component ahead of time, for any CPU of this architecture and operating system.
    /// The output is to be embedded and passed to [`Sandbox::load_precompiled`]. The same component
    /// yields the same bytes.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Sandbox::load`].
    pub fn precompile(&self, name: &str, wasm: &[u8]) -> Result<Vec<u8>, LoadError> {
        let inspected = self.check(name, wasm)?;
        let failed = compile_error(name);
        let engine = engine::portable().map_err(failed)?;
        let code = engine.precompile_component(wasm).map_err(failed)?;
        let key = Key { engine: engine::fingerprint(&engine), component: inspected.digest };
        code::to_bring_along(&key, &code).map_err(|error| failed(error.into()))
    }

    /// Returns the fingerprint of code from [`Sandbox::precompile`]. It covers the full version of
    /// the engine, whereas the code itself only records the major version.
    fn portable_fingerprint(&self) -> Result<[u8; 32], String> {
        if let Some(known) = self.host.portable.get() {
            return Ok(*known);
        }
        let engine = engine::portable().map_err(|error| words(&error))?;
        Ok(*self.host.portable.get_or_init(|| engine::fingerprint(&engine)))
    }

    /// Returns statistics on where the code of components came from so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            compiled: self.host.compiled.load(Ordering::Relaxed),
            cached: self.host.cached.load(Ordering::Relaxed),
            precompiled: self.host.brought_along.load(Ordering::Relaxed),
        }
    }

    /// Checks everything that is possible before compilation, cheapest checks first.
    pub(crate) fn check(&self, name: &str, wasm: &[u8]) -> Result<Inspected, LoadError> {
        let module = || name.to_owned();
        let (size, limit) = (wasm.len() as u64, self.host.config.max_component_bytes);
        if size > limit {
            return Err(LoadError::TooLarge { module: module(), size, limit });
        }
        let inspected = inspect_all(wasm).map_err(|source| LoadError::Inspect { module: module(), source })?;
        // This check precedes that of the imports. A feature of a newer generation must not be
        // rejected like a socket.
        generation::check(name, &inspected.generations)?;
        let imports = imports::refused(&inspected);
        if !imports.is_empty() {
            // An unknown interface of the contract comes from a later version of it, and is not an
            // attempt to escape.
            let ours = imports.iter().all(|import| import.starts_with(generation::PACKAGE));
            let newer = if ours { generation::later(name, &inspected.generations) } else { None };
            return Err(newer.unwrap_or(LoadError::Refused { module: module(), imports }));
        }
        let roles = inspected.info.roles;
        if roles == Roles::default() {
            let newer = generation::later(name, &inspected.generations);
            return Err(newer.unwrap_or_else(|| LoadError::NoRole { module: module() }));
        }
        self.check_shape(name, inspected.shape)?;
        Ok(inspected)
    }

    fn check_shape(&self, name: &str, shape: Shape) -> Result<(), LoadError> {
        let config = &self.host.config;
        let parts = [
            ("core instances", shape.core_instances, u64::from(config.max_core_instances)),
            ("component instances", shape.component_instances, u64::from(config.max_component_instances)),
            ("memories", shape.memories, u64::from(config.max_memories)),
            ("bytes of memory", shape.memory_bytes, config.max_memory),
            ("tables", shape.tables, u64::from(config.max_tables)),
            ("table elements", shape.table_elements, u64::from(config.max_table_elements)),
        ];
        match parts.into_iter().find(|(_, count, limit)| count > limit) {
            None => Ok(()),
            Some((what, count, limit)) => Err(LoadError::TooMany { module: name.to_owned(), what, count, limit }),
        }
    }

    pub(crate) fn compile(&self, name: &str, wasm: &[u8], component: &[u8; 32]) -> Result<Component, LoadError> {
        let host = &self.host;
        let key = Key { engine: host.fingerprint, component: *component };
        if let Some(compiler) = &host.config.compiler {
            let compiled = code::get(&host.engine, host.cache.as_ref(), &key, || {
                let _memory = host.slots.reserve(compiler.memory);
                compiler.compile(&key, wasm)
            });
            let (component, origin) = compiled.map_err(compiler_error(name))?;
            self.count(origin);
            return Ok(component);
        }
        // A panic of the compiler affects only this module.
        let get = || code::get(&host.engine, host.cache.as_ref(), &key, || host.engine.precompile_component(wasm));
        let compiled = catch_unwind(AssertUnwindSafe(get));
        let compiled =
            compiled.map_or_else(|panic| Err(broken_off(&*panic)), |done| done.map_err(wasmtime::Error::from));
        let (component, origin) = compiled.map_err(compile_error(name))?;
        self.count(origin);
        Ok(component)
    }

    fn count(&self, origin: Origin) {
        let host = &self.host;
        match origin {
            Origin::Compiled => host.compiled.fetch_add(1, Ordering::Relaxed),
            Origin::Cached => host.cached.fetch_add(1, Ordering::Relaxed),
        };
    }

    pub(crate) fn link(&self, name: &str, inspected: Inspected, component: &Component) -> Result<Module, LoadError> {
        let host = &self.host;
        let linker = if imports::wants_wasi(&inspected.info.imports) { &host.with_wasi } else { &host.plain };
        let failed = |error: wasmtime::Error| LoadError::Link { module: name.to_owned(), reason: words(&error) };
        let pre: InstancePre<CallState> = linker.instantiate_pre(component).map_err(failed)?;
        let mut info = inspected.info;
        let bound = v0_1::Bound::new(&pre, info.roles).map_err(failed)?;
        info.fill_in(name);
        Ok(Module::new(name.to_owned(), info, bound, Arc::clone(host)))
    }
}

/// Converts a panic of the compiler to an error. Nothing that it worked on is used afterwards.
fn broken_off(panic: &(dyn Any + Send)) -> wasmtime::Error {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    wasmtime::Error::msg(format!("the compiler was interrupted: {}", said.unwrap_or("it does not say why")))
}

fn compiler_error(name: &str) -> impl Fn(CodeError<CompilerError>) -> LoadError + '_ {
    let module = || name.to_owned();
    move |error| match error {
        CodeError::Compile(CompilerError::Limit(limit)) => LoadError::CompileLimit { module: module(), limit },
        CodeError::Compile(error) => LoadError::Compile { module: module(), reason: error.to_string() },
        CodeError::Load(error) => compile_error(name)(error),
    }
}

fn compile_error(name: &str) -> impl Fn(wasmtime::Error) -> LoadError + Copy + '_ {
    move |error| LoadError::Compile { module: name.to_owned(), reason: words(&error) }
}

/// Formats an error of the engine and all its causes as one line.
fn words(error: &wasmtime::Error) -> String {
    format!("{error:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_compiler_is_an_error_of_its_module() {
        let panic = catch_unwind(|| -> () { panic!("no {}", "good") }).unwrap_err();
        let error = compile_error("suspect")(broken_off(&*panic)).to_string();
        assert!(error.contains("`suspect`") && error.contains("the compiler was interrupted: no good"), "{error}");
    }
}
