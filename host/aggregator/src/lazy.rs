//! A module whose code may still be in the making.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plumbline_core::closest;
use plumbline_sandbox::{Accepted, LoadError, Module, ModuleInfo};

use crate::compile::Job;

/// A module that was read and inspected. Its code is there, or comes: a component of an interpreter takes seconds to compile, and nothing but the
/// calls of this module waits for that. Cheap to clone.
#[derive(Clone)]
pub struct LazyModule {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    info: ModuleInfo,
    /// Somebody was asked to compile it.
    asked: AtomicBool,
    /// What is to be compiled; taken by who does it.
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

    /// What it is. Never waits.
    #[must_use]
    pub fn info(&self) -> &ModuleInfo {
        &self.inner.info
    }

    /// Its name, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.info().name.clone().unwrap_or_else(|| "module".to_owned())
    }

    /// Whether nobody would have to wait.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.inner.module.get().is_some()
    }

    /// The module itself. Blocks until it is compiled; if nobody has begun to, this thread does it, so that a module that is needed now
    /// does not wait behind others in a queue.
    ///
    /// # Errors
    /// When the compiler finds that it is not valid, or its interfaces have other types than the contract's.
    pub fn wait(&self) -> Result<&Module, ModuleError> {
        let inner = &*self.inner;
        let compile = || match inner.accepted.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(accepted) => accepted.load(),
            // Only after a panic in the compiler.
            None => Err(LoadError::Compile { module: self.name(), reason: "the compiler was interrupted".into() }),
        };
        let module = inner.module.get_or_init(compile).as_ref();
        module.map_err(|source| ModuleError::Load { path: inner.path.clone(), source: source.clone() })
    }

    /// What is to be done so that nobody has to wait; once.
    pub(crate) fn job(&self) -> Option<Job> {
        if self.inner.asked.swap(true, Ordering::Relaxed) {
            return None;
        }
        let module = self.clone();
        // What is wrong with it, those hear who need it.
        Some(Box::new(move || {
            let _ = module.wait();
        }))
    }
}

/// Why a module cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The file cannot be read.
    #[error("failed to read module `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no module that this host takes.
    #[error("failed to load module `{path}`: {source}")]
    Load {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: LoadError,
    },
    /// No module of this name implements this role.
    #[error("unknown {role} `{name}`: no built-in module and no module of the plugin's bundle has this name")]
    Unknown {
        /// What the definition names: `result format`, `summarizer`, `expectations` or `judge`.
        role: &'static str,
        /// The name, cut to 128 characters.
        name: String,
        /// The names that built-in modules of this role have.
        known: Vec<String>,
        /// The project whose module is not built yet, if the plugin is in one.
        unbuilt: Option<PathBuf>,
    },
    /// A module that says who must answer, where one that reads results is needed.
    #[error("module `{0}` is not a post-processor: it does not read results")]
    Role(PathBuf),
    /// A bundle with too many modules.
    #[error("bundle `{0}` holds more than {MAX_BUNDLE_MODULES} modules")]
    TooMany(PathBuf),
}

impl ModuleError {
    /// What to do about it, where that is known.
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

/// Modules that a bundle may carry.
pub(crate) const MAX_BUNDLE_MODULES: usize = 64;
