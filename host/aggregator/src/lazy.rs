//! Modules that may still be compiling.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plumbline_core::closest;
use plumbline_sandbox::{Accepted, LoadError, Module, ModuleInfo};

use crate::compile::Job;

/// A module that was read and inspected, and that is or will be compiled. A component with an
/// interpreter takes seconds to compile, and only calls of this module wait for it. Cheap to clone.
#[derive(Clone)]
pub struct LazyModule {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    info: ModuleInfo,
    /// Whether compilation was requested.
    asked: AtomicBool,
    /// The module to compile. The thread that compiles it takes it.
    accepted: Mutex<Option<Accepted>>,
    module: OnceLock<Result<Module, LoadError>>,
}

impl fmt::Debug for LazyModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyModule").field("info", self.info()).field("ready", &self.is_ready()).finish_non_exhaustive()
    }
}

impl From<Module> for LazyModule {
    fn from(module: Module) -> Self {
        let (path, info) = (PathBuf::from(module.name()), module.info().clone());
        let asked = AtomicBool::new(true);
        Self { inner: Arc::new(Inner { path, info, asked, accepted: Mutex::new(None), module: Ok(module).into() }) }
    }
}

impl From<Accepted> for LazyModule {
    fn from(accepted: Accepted) -> Self {
        Self::new(&PathBuf::from(accepted.name()), accepted)
    }
}

impl LazyModule {
    pub(crate) fn new(path: &Path, accepted: Accepted) -> Self {
        let (path, info, asked) = (path.to_owned(), accepted.info().clone(), AtomicBool::new(false));
        let accepted = Mutex::new(Some(accepted));
        Self { inner: Arc::new(Inner { path, info, asked, accepted, module: OnceLock::new() }) }
    }

    /// Returns information about the module. It never waits.
    #[must_use]
    pub fn info(&self) -> &ModuleInfo {
        &self.inner.info
    }

    /// Returns the name of the module, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.info().name.clone().unwrap_or_else(|| "module".to_owned())
    }

    /// Returns whether the module is compiled, so that nobody has to wait.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.inner.module.get().is_some()
    }

    /// Returns the compiled module. Blocks until it is compiled. If nobody has started to, this
    /// thread compiles it, so that a module that is needed now does not wait in a queue.
    ///
    /// # Errors
    /// When the module is invalid, or its interfaces have other types than the contract's.
    pub fn wait(&self) -> Result<&Module, ModuleError> {
        let inner = &*self.inner;
        let compile = || match inner.accepted.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(accepted) => accepted.load(),
            // Happens only after a panic in the compiler.
            None => Err(LoadError::Compile { module: self.name(), reason: "the compiler was interrupted".into() }),
        };
        let module = inner.module.get_or_init(compile).as_ref();
        module.map_err(|source| ModuleError::Load { path: inner.path.clone(), source: source.clone() })
    }

    /// Returns the compilation job, but only once.
    pub(crate) fn job(&self) -> Option<Job> {
        if self.inner.asked.swap(true, Ordering::Relaxed) {
            return None;
        }
        let module = self.clone();
        // Errors are reported to the callers that need the module.
        Some(Box::new(move || {
            let _ = module.wait();
        }))
    }
}

/// Error while loading a module.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The file is not readable.
    #[error("failed to read module `{path}`: {source}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: std::io::Error,
    },
    /// The file is not a module that this host accepts.
    #[error("failed to load module `{path}`: {source}")]
    Load {
        /// Path of the file.
        path: PathBuf,
        /// The underlying error.
        source: LoadError,
    },
    /// No module of this name implements this role.
    #[error("unknown {role} `{name}`: no built-in module and no module of the plugin's bundle has this name")]
    Unknown {
        /// The role: `result format`, `summarizer`, `expectations` or `judge`.
        role: &'static str,
        /// The name, truncated to 128 characters.
        name: String,
        /// Names of the built-in modules with this role.
        known: Vec<String>,
        /// Directory of the plugin's project, if its module is not built yet.
        unbuilt: Option<PathBuf>,
    },
    /// The module is not a post-processor.
    #[error("module `{0}` is not a post-processor: it does not read results")]
    Role(PathBuf),
    /// The bundle has too many modules.
    #[error("bundle `{0}` holds more than {MAX_BUNDLE_MODULES} modules")]
    TooMany(PathBuf),
}

impl ModuleError {
    /// Returns a hint with the fix, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let Self::Unknown { name, known, unbuilt, .. } = self else { return None };
        if let Some(project) = unbuilt {
            let project = project.display();
            return Some(format!(
                "the module of this project is not built yet: `plumbline plugin build {project}` builds it"
            ));
        }
        let known_names = format!("built-in: {}", known.join(", "));
        Some(match closest(name, known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`? ({known_names})"),
            None => known_names,
        })
    }
}

/// Maximum number of modules in a bundle.
pub(crate) const MAX_BUNDLE_MODULES: usize = 64;
