//! Compilation of modules: once each, in the background or by the call that needs it first.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use plumbline_sandbox::{Accepted, LoadError, Module, ModuleInfo};

use super::error::ModuleError;

/// A compilation job, which takes seconds of one core.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs compilation jobs, now or later, on a thread that may block.
pub type Compiler = Arc<dyn Fn(Job) + Send + Sync>;

/// A module that was inspected, and is or will be compiled. Cheap to clone.
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
        Self::new(accepted.name().into(), accepted)
    }
}

impl LazyModule {
    pub(super) fn new(path: PathBuf, accepted: Accepted) -> Self {
        let (info, asked) = (accepted.info().clone(), AtomicBool::new(false));
        let accepted = Mutex::new(Some(accepted));
        Self { inner: Arc::new(Inner { path, info, asked, accepted, module: OnceLock::new() }) }
    }

    /// Starts the compilation of a module that will be needed, unless that was done before.
    pub(super) fn start(&self, compiler: &Compiler) {
        if !self.inner.asked.swap(true, Ordering::Relaxed) {
            let module = self.clone();
            // Errors are reported to the callers that need the module.
            compiler(Box::new(move || drop(module.wait())));
        }
    }

    /// Returns information about the module. It never waits.
    pub fn info(&self) -> &ModuleInfo {
        &self.inner.info
    }

    /// Returns the name of the module, for messages.
    pub fn name(&self) -> String {
        self.info().name.clone().unwrap_or_else(|| "module".to_owned())
    }

    /// Returns whether the module is compiled, so that nobody has to wait.
    pub fn is_ready(&self) -> bool {
        self.inner.module.get().is_some()
    }

    /// Returns the compiled module. Blocks until it is compiled, on this thread if nobody has
    /// started.
    ///
    /// # Errors
    /// When the module is invalid, or its interfaces have other types than the contract's.
    pub fn wait(&self) -> Result<&Module, ModuleError> {
        let inner = &*self.inner;
        let compile = || match inner.accepted.lock().take() {
            Some(accepted) => accepted.load(),
            // Happens only after a panic in the compiler.
            None => Err(LoadError::Compile { module: self.name(), reason: "the compiler was interrupted".into() }),
        };
        let module = inner.module.get_or_init(compile).as_ref();
        module.map_err(|source| ModuleError::Load { path: inner.path.clone(), source: source.clone() })
    }

    /// Compiles the module for other processes ([`Accepted::precompile`]). Blocks until that is
    /// done.
    ///
    /// # Errors
    /// When the module is invalid or takes too much to compile, or [`LazyModule::wait`] took it.
    pub(crate) fn precompile(&self) -> Result<Vec<u8>, ModuleError> {
        let accepted = self.inner.accepted.lock();
        let code = match &*accepted {
            Some(accepted) => accepted.precompile(),
            None => Err(LoadError::Compile { module: self.name(), reason: "this process runs it itself".into() }),
        };
        code.map_err(|source| ModuleError::Load { path: self.inner.path.clone(), source })
    }
}

/// Threads for jobs, at most one per core. The threads of the async runtime must not block.
#[derive(Clone, Default)]
pub(super) struct Pool {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
}

impl Pool {
    /// Queues `job` to run as soon as a thread is available.
    pub(super) fn submit(&self, job: Job) {
        let mut queue = self.queue.lock();
        queue.jobs.push_back(job);
        if queue.threads >= std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            return;
        }
        queue.threads += 1;
        drop(queue);
        let pool = self.clone();
        let work = move || {
            while let Some(job) = pool.next() {
                // The task that needs the module reports a panic in the compiler.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("compile".into()).spawn(work) {
            // A module is then compiled by the task that needs it.
            tracing::warn!("failed to start a thread for compiling modules: {error}");
            self.queue.lock().threads -= 1;
        }
    }

    /// Takes the next job. Without one, the caller's thread ends.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        let job = queue.jobs.pop_front();
        if job.is_none() {
            queue.threads -= 1;
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn every_job_runs_even_if_others_panic() {
        let (pool, (done, all)) = (Pool::default(), mpsc::channel());
        for n in 0..50 {
            let done = done.clone();
            pool.submit(Box::new(move || {
                assert!(n != 7, "one that is interrupted");
                done.send(n).unwrap();
            }));
        }
        drop(done);
        let mut seen: Vec<i32> = all.iter().collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..50).filter(|n| *n != 7).collect::<Vec<_>>());
    }
}
