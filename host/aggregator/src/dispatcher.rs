//! Interface between the aggregator and the environment that runs plugins: Kubernetes, this
//! machine, or a test.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub use futures_util::future::BoxFuture;
use jiff::Timestamp;
use plumbline_core::definition::Definition;
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::{ModuleLimits, Node, ResultKey, RunId};
use plumbline_phonehome::ClientConfig;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// Error of a dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DispatchError {
    /// What failed, for which object, and why.
    pub message: String,
    /// Whether the cause may pass by itself, so that another attempt may help: the environment does
    /// not answer, or is overloaded.
    pub is_temporary: bool,
}

impl DispatchError {
    /// Creates an error whose cause lasts until somebody removes it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_temporary: false }
    }

    /// Creates an error whose cause may pass by itself.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_temporary: true }
    }
}

/// URL and credentials with which a worker connects to the aggregator. The private key is in SEC1.
pub type WorkerAccess = ClientConfig;

/// The last heartbeats and the missing results. Monitors use them to find out whether workers reach
/// the aggregator, and whether a result is still missing.
#[derive(Clone)]
pub struct WorkerContact {
    look: Arc<Look>,
    missing: Arc<Missing>,
    clock: Arc<Clock>,
}

type Look = dyn Fn(&ResultKey) -> Option<Timestamp> + Send + Sync;
type Missing = dyn Fn(&ResultKey) -> bool + Send + Sync;
type Clock = dyn Fn() -> Timestamp + Send + Sync;

impl WorkerContact {
    /// Creates a value that returns the result of `look`, and reports every result as missing. Times
    /// are those of this machine.
    pub fn new(look: impl Fn(&ResultKey) -> Option<Timestamp> + Send + Sync + 'static) -> Self {
        Self { look: Arc::new(look), missing: Arc::new(|_| true), clock: Arc::new(Timestamp::now) }
    }

    /// Uses the clock of the heartbeats, which may differ from that of this machine.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Returns the current time of the clock of the heartbeats.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Uses `missing` to decide which results are missing.
    #[must_use]
    pub fn with_missing(self, missing: impl Fn(&ResultKey) -> bool + Send + Sync + 'static) -> Self {
        Self { missing: Arc::new(missing), ..self }
    }

    /// Returns the time of the last message from the worker of this result, or `None` if there was
    /// none.
    pub fn at(&self, key: &ResultKey) -> Option<Timestamp> {
        (self.look)(key)
    }

    /// Returns whether this result has neither arrived nor failed.
    pub fn is_missing(&self, key: &ResultKey) -> bool {
        (self.missing)(key)
    }
}

impl std::fmt::Debug for WorkerContact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkerContact")
    }
}

/// A check to launch.
#[derive(Debug, Clone)]
pub struct CheckLaunch {
    /// Its limits. Its wall-clock time leaves its results time to arrive.
    pub limits: ModuleLimits,
    /// Its compiler.
    pub compiler: CheckCompiler,
}

type Compile = dyn Fn() -> Result<CompiledCheck, String> + Send + Sync;

/// Compiles the component of a check for the processes that run it on other machines.
#[derive(Clone)]
pub struct CheckCompiler(Arc<Compile>);

impl CheckCompiler {
    /// Creates a value that returns the result of `compile`.
    pub fn new(compile: impl Fn() -> Result<CompiledCheck, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(compile))
    }

    /// Compiles the component. Blocks for seconds if the component contains a language runtime.
    pub fn compile(&self) -> Result<CompiledCheck, String> {
        (self.0)()
    }
}

impl std::fmt::Debug for CheckCompiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CheckCompiler")
    }
}

/// The compiled code of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledCheck {
    /// The platform for which it was compiled, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
    /// The code, in the form that [`plumbline_sandbox::Accepted::load_carried`] takes.
    pub bytes: Vec<u8>,
}

/// A plugin to launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// ID of the run.
    pub run: RunId,
    /// Definition of the plugin.
    pub definition: Arc<Definition>,
    /// Directory of the plugin's bundle, if it has one.
    pub bundle: Option<PathBuf>,
    /// The check that the plugin runs in place of an image. `None` if it runs none.
    pub check: Option<CheckLaunch>,
    /// Results that are missing. All of them at first, fewer after a restart of the aggregator.
    pub missing: Vec<ResultKey>,
    /// How its workers connect to the aggregator.
    pub access: WorkerAccess,
    /// Which of its workers have done so.
    pub heard: WorkerContact,
}

/// A dispatcher's report about a running plugin.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// A result will not arrive.
    Failed {
        /// The result.
        key: ResultKey,
        /// The reason, with details that help to understand it.
        error: ErrorRecord,
    },
    /// A problem currently prevents a result from arriving. The result may still arrive.
    Problem {
        /// The result.
        key: ResultKey,
        /// One sentence, or `None` when the problem is gone.
        reason: Option<String>,
    },
    /// Every container next to the worker has ended with exit code 0, which the worker may not
    /// notice.
    PluginEnded {
        /// The result.
        key: ResultKey,
    },
}

/// A plugin whose results are complete: each of them has arrived or failed.
#[derive(Debug, Clone)]
pub struct Completed {
    /// ID of the run.
    pub run: RunId,
    /// Definition of the plugin.
    pub definition: Arc<Definition>,
    /// Results that arrived.
    pub received: BTreeSet<ResultKey>,
    /// Results that will not arrive.
    pub failed: BTreeSet<ResultKey>,
}

/// End of an execution that also sent its results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The result of the execution.
    pub key: ResultKey,
    /// A sentence such as `exited with code 3`.
    pub text: String,
    /// What the end means for the results.
    pub kind: ExitKind,
}

/// What the end of an execution means for its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitKind {
    /// The exit code is 0.
    Success,
    /// The exit code says that something failed. Suites also exit so if a test failed.
    Failure,
    /// The exit code says that no tests were found.
    NoTests,
    /// A signal or a lack of memory ended it, so results may be missing.
    Crash,
    /// Nobody knows how it ended, so results may be missing.
    Unknown,
}

impl ExitKind {
    /// Returns the kind of an exit code: above 128, a signal ended the command of a shell.
    pub fn of_code(code: i64) -> Self {
        match code {
            0 => Self::Success,
            129..=192 => Self::Crash,
            _ => Self::Failure,
        }
    }
}

/// Files of a plugin whose result did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// Directory of the files. Nothing writes to it any more.
    pub directory: PathBuf,
    /// Full paths of files in it that are not results.
    pub exclude: Vec<PathBuf>,
}

/// Runs plugins in one environment. There is one dispatcher per run.
pub trait Dispatcher: Send + Sync + 'static {
    /// Returns the nodes on which plugins may be expected.
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>>;

    /// Launches a plugin and returns once that is done. Problems are sent to `reports` until the
    /// cleanup.
    ///
    /// After a temporary error, another call may follow. It continues with what already runs. After
    /// the last call that failed, [`Dispatcher::abandon`] follows, and every missing result of the
    /// plugin fails with the error.
    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>>;

    /// Removes what runs of a plugin whose launch failed for good. Problems are logged. By default,
    /// a failed launch has left nothing.
    fn abandon<'a>(&'a self, _launch: &'a Launch) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Stops what is still running after all results of a plugin have arrived, with the
    /// dispatcher's grace period, before the results are read. Returns the ends of executions, if
    /// they ended by themselves.
    ///
    /// An earlier process of the run may have launched the plugin. If the end of an execution whose
    /// result arrived cannot be learned, it is [`ExitKind::Unknown`]. No end means that the
    /// execution went on after its result.
    fn settle<'a>(&'a self, plugin: &'a Completed) -> BoxFuture<'a, Vec<Exit>>;

    /// Returns the files that a plugin had written for a result that did not arrive, if the
    /// dispatcher can access them. It is called after [`Dispatcher::settle`] for each such result.
    /// The files are read like results, in addition to the error.
    fn unsent(&self, _key: &ResultKey) -> Option<Unsent> {
        None
    }

    /// Adds information about the environment to the tree that becomes the archive. It is called
    /// once, when every plugin is complete and before [`Dispatcher::cleanup`]. Problems are
    /// recorded in the tree and never fail the run. Dropping the future ends it early, in an
    /// interrupted run after it was polled once.
    fn survey(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Removes everything that is left of the plugins. It is called once, at the end of every run.
    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>>;
}

/// Stores one secret: certificate and private key of the run's CA, as PEM. With it, the workers of a
/// run still trust a restarted aggregator.
pub trait Vault: Send + Sync {
    /// Returns the stored secret, if there is one.
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>>;

    /// Stores the secret. When it returns, [`Vault::load`] returns the secret, even in another
    /// process.
    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>>;
}
