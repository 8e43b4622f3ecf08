//! Loads components.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use plumbline_core::Digest;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use crate::cache::{Cache, Key};
use crate::call::state::CallState;
use crate::code::{CodeError, Origin};
use crate::compiler::CompilerError;
use crate::config::{
    MAX_CACHE_BYTES, MAX_COMPONENT_INSTANCES, MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES, SandboxConfig,
};
use crate::engine::Target;
use crate::error::{LoadError, SandboxError};
use crate::generation::v0_1;
use crate::inspect::{Inspected, ModuleInfo, Roles, Shape, inspect_all};
use crate::module::{Host, Module};
use crate::slots::Slots;
use crate::ticker::Ticker;
use crate::{code, engine, generation, wasi};

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
    /// The number of components whose code is embedded in the program, or was carried here.
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
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let config = config.checked()?;
        let engine = engine::native(&config).map_err(|error| SandboxError::Engine(words(&error)))?;
        let interface = |error: wasmtime::Error| SandboxError::Interface(words(&error));
        let mut plain = Linker::new(&engine);
        v0_1::add_to_linker(&mut plain).map_err(interface)?;
        let mut with_wasi = plain.clone();
        wasi::add_to_linker(&mut with_wasi).map_err(interface)?;
        let cache = config.cache_dir.as_deref().and_then(|path| {
            let cache = Cache::open(path, MAX_CACHE_BYTES);
            cache
                .inspect_err(|error| {
                    tracing::warn!(cache = %path.display(), "failed to use the cache of compiled modules: {error}");
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
    /// Returns an error if the data is too large or not a valid component. The same applies if it
    /// imports something that is not available, was built for another generation of the interface,
    /// or implements no role. No code of it has run.
    pub fn load(&self, name: &str, wasm: &[u8]) -> Result<Module, LoadError> {
        self.finish(name, wasm, self.check(name, wasm)?, Code::None)
    }

    /// Loads a component like [`Sandbox::load`], with code from [`Sandbox::precompile`] that is
    /// embedded in this program. Code for another version, machine or component is ignored, and the
    /// component is compiled.
    ///
    /// `code` must be what [`Sandbox::precompile`] returned, embedded when the program was built.
    /// It is machine code and is executed as is. Never pass bytes that were read at run time from
    /// anywhere. The `'static` lifetime makes that hard to do by accident.
    pub fn load_precompiled(&self, name: &str, wasm: &[u8], code: &'static [u8]) -> Result<Module, LoadError> {
        self.finish(name, wasm, self.check(name, wasm)?, Code::Embedded(code))
    }

    /// Compiles and links a checked component. Uses `code` if it is given and matches.
    fn finish(&self, name: &str, wasm: &[u8], inspected: Inspected, code: Code<'_>) -> Result<Module, LoadError> {
        let component = self.component(name, wasm, &inspected.digest, code)?;
        self.link(name, inspected, &component)
    }

    /// Loads the component from `code` if it matches, and compiles it otherwise.
    fn component(&self, name: &str, wasm: &[u8], digest: &[u8; 32], code: Code<'_>) -> Result<Component, LoadError> {
        let engine = &self.host.engine;
        let key = || Ok::<_, String>(Key { engine: self.portable_fingerprint()?, component: *digest });
        let fitting = match code {
            Code::None => return self.compile(name, wasm, digest),
            Code::Embedded(bytes) => key().and_then(|key| code::brought_along(engine, bytes, &key)),
            Code::Carried(bytes, digest) => match key().map(|key| code::carried(engine, bytes, digest, &key)) {
                Ok(Some(fitting)) => fitting,
                Ok(None) => return Err(LoadError::CodeChanged(name.to_owned())),
                Err(reason) => Err(reason),
            },
        };
        match fitting {
            Ok(component) => {
                self.host.brought_along.fetch_add(1, Ordering::Relaxed);
                Ok(component)
            }
            Err(reason) => {
                tracing::info!(module = name, "ignored code that was compiled ahead of time: {reason}");
                self.compile(name, wasm, digest)
            }
        }
    }

    /// Compiles a component ahead of time, for any CPU of this architecture and operating system.
    /// The output is to be embedded and passed to [`Sandbox::load_precompiled`], or to be carried to
    /// another process and passed to [`Accepted::load_carried`]. The same component yields the same
    /// bytes.
    pub fn precompile(&self, name: &str, wasm: &[u8]) -> Result<Vec<u8>, LoadError> {
        self.precompile_checked(name, wasm, &self.check(name, wasm)?.digest)
    }

    fn precompile_checked(&self, name: &str, wasm: &[u8], digest: &[u8; 32]) -> Result<Vec<u8>, LoadError> {
        let failed = |reason: String| LoadError::Compile { module: name.to_owned(), reason };
        let host = &self.host;
        let key = Key { engine: self.portable_fingerprint().map_err(failed)?, component: *digest };
        let code = code::for_others(host.cache.as_ref(), &key, || self.run_compiler(&key, wasm, Target::Portable));
        let code = code.map_err(|error| compiler_error(name, error))?;
        code::to_bring_along(&key, &code).map_err(|error| failed(error.to_string()))
    }

    /// Returns the fingerprint of code from [`Sandbox::precompile`]. It covers the full version of
    /// the engine, whereas the code itself only records the major version.
    fn portable_fingerprint(&self) -> Result<[u8; 32], String> {
        if let Some(known) = self.host.portable.get() {
            return Ok(*known);
        }
        let engine = Target::Portable.compiler().map_err(|error| words(&error))?;
        Ok(*self.host.portable.get_or_init(|| engine::fingerprint(&engine)))
    }

    /// Returns statistics on where the code of components came from so far.
    pub fn stats(&self) -> Stats {
        Stats {
            compiled: self.host.compiled.load(Ordering::Relaxed),
            cached: self.host.cached.load(Ordering::Relaxed),
            precompiled: self.host.brought_along.load(Ordering::Relaxed),
        }
    }

    /// Checks everything that is possible before compilation, cheapest checks first.
    fn check(&self, name: &str, wasm: &[u8]) -> Result<Inspected, LoadError> {
        let module = || name.to_owned();
        let size = wasm.len() as u64;
        if size > MAX_COMPONENT_BYTES {
            return Err(LoadError::TooLarge { module: module(), size, limit: MAX_COMPONENT_BYTES });
        }
        let inspected = inspect_all(wasm).map_err(|source| LoadError::Inspect { module: module(), source })?;
        // This check precedes that of the imports. A feature of a newer generation must not be
        // rejected like a socket.
        generation::check(name, &inspected.generations)?;
        let imports = &inspected.refused;
        if !imports.is_empty() {
            // An unknown interface of the contract comes from a later version of it, and is not an
            // attempt to escape.
            let ours = imports.iter().all(|import| import.starts_with(generation::PACKAGE));
            let newer = if ours { generation::later(name, &inspected.generations) } else { None };
            return Err(newer.unwrap_or(LoadError::Refused { module: module(), imports: imports.clone() }));
        }
        let roles = inspected.info.roles;
        if roles == Roles::default() {
            let newer = generation::later(name, &inspected.generations);
            return Err(newer.unwrap_or_else(|| LoadError::NoRole(module())));
        }
        self.check_shape(name, inspected.shape)?;
        Ok(inspected)
    }

    fn check_shape(&self, name: &str, shape: Shape) -> Result<(), LoadError> {
        let config = &self.host.config;
        let parts = [
            ("core instances", shape.core_instances, u64::from(MAX_CORE_INSTANCES)),
            ("component instances", shape.component_instances, u64::from(MAX_COMPONENT_INSTANCES)),
            ("memories", shape.memories, u64::from(MAX_MEMORIES)),
            ("bytes of memory", shape.memory_bytes, config.max_memory),
            ("tables", shape.tables, u64::from(MAX_TABLES)),
            ("table elements", shape.table_elements, u64::from(config.max_table_elements)),
        ];
        match parts.into_iter().find(|(_, count, limit)| count > limit) {
            None => Ok(()),
            Some((what, count, limit)) => Err(LoadError::TooMany { module: name.to_owned(), what, count, limit }),
        }
    }

    fn compile(&self, name: &str, wasm: &[u8], component: &[u8; 32]) -> Result<Component, LoadError> {
        let host = &self.host;
        let key = Key { engine: host.fingerprint, component: *component };
        let compiled =
            code::get(&host.engine, host.cache.as_ref(), &key, || self.run_compiler(&key, wasm, Target::Native));
        let (component, origin) = compiled.map_err(|error| match error {
            CodeError::Compile(error) => compiler_error(name, error),
            CodeError::Load(error) => LoadError::Compile { module: name.to_owned(), reason: words(&error) },
        })?;
        match origin {
            Origin::Compiled => host.compiled.fetch_add(1, Ordering::Relaxed),
            Origin::Cached => host.cached.fetch_add(1, Ordering::Relaxed),
        };
        Ok(component)
    }

    /// Compiles in the separate process if there is one, and in this process otherwise.
    fn run_compiler(&self, key: &Key, wasm: &[u8], target: Target) -> Result<Vec<u8>, CompilerError> {
        let host = &self.host;
        if let Some(compiler) = &host.config.compiler {
            let _memory = host.slots.take(0, compiler.memory);
            return compiler.compile(key, wasm, target);
        }
        match target {
            Target::Native => compile_here(&host.engine, wasm),
            Target::Portable => {
                let engine = target.compiler().map_err(|error| CompilerError::Invalid(words(&error)))?;
                compile_here(&engine, wasm)
            }
        }
    }

    fn link(&self, name: &str, inspected: Inspected, component: &Component) -> Result<Module, LoadError> {
        let host = &self.host;
        // WASI is not linked to a component that does not import it.
        let wants_wasi = inspected.info.imports.iter().any(|name| name.starts_with("wasi:"));
        let linker = if wants_wasi { &host.with_wasi } else { &host.plain };
        let failed = |error: wasmtime::Error| LoadError::Link { module: name.to_owned(), reason: words(&error) };
        let pre: InstancePre<CallState> = linker.instantiate_pre(component).map_err(failed)?;
        let mut info = inspected.info;
        let bound = v0_1::Bound::new(&pre, info.roles).map_err(failed)?;
        info.fill_in(name);
        Ok(Module::new(name.to_owned(), info, bound, Arc::clone(host)))
    }
}

/// Compiles in this process. A panic of the compiler affects only this module: nothing that it
/// worked on is used afterwards.
fn compile_here(engine: &Engine, wasm: &[u8]) -> Result<Vec<u8>, CompilerError> {
    let compiled = catch_unwind(AssertUnwindSafe(|| engine.precompile_component(wasm)));
    let compiled = compiled.map_err(|panic| broken_off(&*panic))?;
    compiled.map_err(|error| CompilerError::Invalid(words(&error)))
}

fn broken_off(panic: &(dyn Any + Send)) -> CompilerError {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    CompilerError::Invalid(format!("the compiler was interrupted: {}", said.unwrap_or("it printed no reason")))
}

fn compiler_error(name: &str, error: CompilerError) -> LoadError {
    let module = name.to_owned();
    match error {
        CompilerError::Limit(limit) => LoadError::CompileLimit { module, limit },
        error => LoadError::Compile { module, reason: error.to_string() },
    }
}

fn words(error: &wasmtime::Error) -> String {
    format!("{error:#}")
}

/// Code of a component that was compiled ahead of time.
#[derive(Clone, Copy)]
enum Code<'a> {
    None,
    /// It is part of this program.
    Embedded(&'static [u8]),
    /// It was carried here, and has this digest.
    Carried(&'a [u8], &'a Digest),
}

/// A component that passed all cheap checks. Compiling it may take seconds, so the caller decides
/// where that happens. [`Accepted::load`] on a separate thread does not block anything else.
pub struct Accepted {
    sandbox: Sandbox,
    name: String,
    wasm: Cow<'static, [u8]>,
    /// Code that was compiled when the program was built.
    code: Option<&'static [u8]>,
    inspected: Inspected,
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").field("name", &self.name).field("bytes", &self.wasm.len()).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Checks a component as far as possible without compiling it. Errors refer to it as `name`.
    pub fn accept(&self, name: &str, wasm: Vec<u8>) -> Result<Accepted, LoadError> {
        self.accepted(name, wasm.into(), None)
    }

    /// Checks a component like [`Sandbox::accept`], with precompiled `code`. The conditions of
    /// [`Sandbox::load_precompiled`] apply. The code is not read before the module is loaded.
    pub fn accept_precompiled(
        &self,
        name: &str,
        wasm: &'static [u8],
        code: &'static [u8],
    ) -> Result<Accepted, LoadError> {
        self.accepted(name, wasm.into(), Some(code))
    }

    fn accepted(
        &self,
        name: &str,
        wasm: Cow<'static, [u8]>,
        code: Option<&'static [u8]>,
    ) -> Result<Accepted, LoadError> {
        let mut inspected = self.check(name, &wasm)?;
        inspected.info.fill_in(name);
        Ok(Accepted { sandbox: self.clone(), name: name.to_owned(), wasm, code, inspected })
    }
}

impl Accepted {
    /// Returns the name that errors use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the metadata that [`Module::info`] will return.
    pub fn info(&self) -> &ModuleInfo {
        &self.inspected.info
    }

    /// Compiles the component (or loads its code from the cache) and links it. Blocks until that is
    /// done.
    pub fn load(self) -> Result<Module, LoadError> {
        let code = self.code.map_or(Code::None, Code::Embedded);
        self.sandbox.finish(&self.name, &self.wasm, self.inspected, code)
    }

    /// Loads the component like [`Accepted::load`], with `code` from [`Accepted::precompile`] of
    /// another process. Code for another version, machine or component is ignored, and the component
    /// is compiled.
    ///
    /// `code` is machine code and is executed as is. `digest` is its digest, which must come from
    /// the party that decides which program runs as this process, such as the author of its pod. It
    /// must not come from where the code comes from.
    ///
    /// # Errors
    /// Returns [`LoadError::CodeChanged`] if `code` has another digest, and the same errors as
    /// [`Accepted::load`].
    pub fn load_carried(self, code: &[u8], digest: &Digest) -> Result<Module, LoadError> {
        self.sandbox.finish(&self.name, &self.wasm, self.inspected, Code::Carried(code, digest))
    }

    /// Compiles the component for other processes, as [`Sandbox::precompile`] does.
    pub fn precompile(&self) -> Result<Vec<u8>, LoadError> {
        self.sandbox.precompile_checked(&self.name, &self.wasm, &self.inspected.digest)
    }
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
