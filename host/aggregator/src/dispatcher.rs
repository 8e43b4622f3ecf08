//! What the aggregator asks of whoever executes plugins: Kubernetes, this machine, or a test.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use plumbline_core::definition::Definition;
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::{Node, PluginName, ResultKey, RunId};
use tokio::sync::mpsc;

/// A future in a box: the trait is used behind `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why something could not be dispatched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DispatchError {
    /// What failed, in which object, and why.
    pub message: String,
}

impl DispatchError {
    /// An error with that sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// What a worker needs to phone home. Certificates and keys as PEM texts.
#[derive(Clone)]
pub struct WorkerAccess {
    /// `https://HOST:PORT`.
    pub aggregator_url: String,
    /// The certificate of the run's authority.
    pub ca_cert: String,
    /// The plugin's client certificate.
    pub client_cert: String,
    /// Its private key (SEC1).
    pub client_key: String,
}

impl std::fmt::Debug for WorkerAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys do not belong into logs.
        f.debug_struct("WorkerAccess").field("aggregator_url", &self.aggregator_url).finish_non_exhaustive()
    }
}

/// Whether, and when, workers were heard of last: what a monitor asks that wonders whether they reach the aggregator at all. And whether
/// a result is still missing: what it asks before it tells that one will not arrive.
#[derive(Clone)]
pub struct Heard {
    look: Arc<Look>,
    missing: Arc<Missing>,
}

type Look = dyn Fn(&ResultKey) -> Option<Timestamp> + Send + Sync;
type Missing = dyn Fn(&ResultKey) -> bool + Send + Sync;

impl Heard {
    /// Answers with what `look` finds; every result is missing.
    pub fn new(look: impl Fn(&ResultKey) -> Option<Timestamp> + Send + Sync + 'static) -> Self {
        Self { look: Arc::new(look), missing: Arc::new(|_| true) }
    }

    /// The same, and `missing` tells which results are.
    #[must_use]
    pub fn with_missing(self, missing: impl Fn(&ResultKey) -> bool + Send + Sync + 'static) -> Self {
        Self { missing: Arc::new(missing), ..self }
    }

    /// When the worker of this result was heard of last; `None`: never.
    #[must_use]
    pub fn at(&self, key: &ResultKey) -> Option<Timestamp> {
        (self.look)(key)
    }

    /// Whether this result is neither in nor known to fail.
    #[must_use]
    pub fn is_missing(&self, key: &ResultKey) -> bool {
        (self.missing)(key)
    }
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Heard")
    }
}

/// A plugin that is to be put to work.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The run.
    pub run: RunId,
    /// The plugin.
    pub definition: Arc<Definition>,
    /// The directory that the definition came with, if it came with one.
    pub bundle: Option<PathBuf>,
    /// The results that are still missing: all of them at first, fewer after a restart of the aggregator.
    pub missing: Vec<ResultKey>,
    /// How its workers phone home.
    pub access: WorkerAccess,
    /// Which of its workers did.
    pub heard: Heard,
}

/// What a dispatcher sees of plugins at work.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// A result will not arrive, and why.
    Failed {
        /// The result.
        key: ResultKey,
        /// The reason, with what helps to understand it.
        error: ErrorRecord,
    },
    /// What currently keeps a result from arriving. The result may still arrive.
    Trouble {
        /// The result.
        key: ResultKey,
        /// One sentence; `None` once nothing is wrong any more.
        reason: Option<String>,
    },
    /// Every container next to the worker has ended with exit code 0. The worker may not see that itself, because it has no
    /// token for the API server.
    PluginEnded {
        /// The result.
        key: ResultKey,
    },
}

/// How an execution ended that also sent its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Whose.
    pub key: ResultKey,
    /// A sentence such as `exited with code 3`.
    pub text: String,
    /// Whether the exit code is 0.
    pub success: bool,
}

/// Files of a plugin whose result did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// The directory with the files. Nothing writes to it any more.
    pub directory: PathBuf,
    /// Files in it that are no results, by their whole paths.
    pub exclude: Vec<PathBuf>,
}

/// Puts drivers to work somewhere. One per run.
pub trait Dispatcher: Send + Sync + 'static {
    /// The nodes that plugins may be expected on.
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>>;

    /// Puts a plugin to work and returns once that is done; what becomes of it is told through `reports` until its cleanup. An error
    /// means that nothing runs: every missing result of the plugin fails with it.
    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>>;

    /// Called once all results of a plugin are in, before they are read: ends what still runs, after the grace that the dispatcher
    /// gives it, and tells how executions ended whose results arrived, as far as they ended by themselves.
    fn settle<'a>(&'a self, plugin: &'a PluginName) -> BoxFuture<'a, Vec<Exit>>;

    /// Called after [`Dispatcher::settle`] for each result that did not arrive: the files that the plugin had written by then, if the
    /// dispatcher can reach them. They are read like results, beside the error.
    fn unsent(&self, _key: &ResultKey) -> Option<Unsent> {
        None
    }

    /// Called once, when every plugin is complete and before [`Dispatcher::cleanup`]: adds what is known of the place of the run to the
    /// tree that becomes the archive. What cannot be learned is recorded there, and never fails the run. Ends early when dropped.
    fn survey(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Removes what is left of every plugin. Called once, at the end of the run, however it ends.
    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>>;
}
