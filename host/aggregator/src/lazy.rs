//! A module whose code may still be in the making.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plumbline_sandbox::{Accepted, LoadError, Module, ModuleInfo};

use crate::compile::Job;
use crate::modules::ModuleError;

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
            None => Err(LoadError::Compile { module: self.name(), reason: "the compiler broke off".into() }),
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
