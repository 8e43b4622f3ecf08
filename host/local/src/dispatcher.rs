//! The dispatcher: one execution per expected result, all on this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use plumbline_aggregator::{BoxFuture, DispatchError, Dispatcher, Exit, Launch, Report, Unsent};
use plumbline_core::{Node, PluginName, ResultKey};
use tokio::sync::{mpsc, oneshot};

use crate::execution::{self, Control, Execution, ExecutionContext, LastOutput};
use crate::leftovers;
use crate::machine::this_machine;
use crate::start::StartDirectories;

/// The directories and the program of a local run.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The directory for the working directories of executions, removed with the run.
    pub work: PathBuf,
    /// The directory for the output of plugins and workers, in files `PLUGIN/logs/NODE.txt`.
    pub logs: PathBuf,
    /// The program that runs as `worker global` and `worker single-node`: this binary.
    pub binary: PathBuf,
    /// The directories in which plugins start.
    pub start: StartDirectories,
}

/// Runs plugins as processes on this machine.
pub struct LocalDispatcher {
    ground: ExecutionContext,
    node: Node,
    running: Mutex<BTreeMap<PluginName, Vec<mpsc::Sender<Control>>>>,
}

impl LocalDispatcher {
    /// Creates a dispatcher and its directories. Processes that a killed aggregator of the same run
    /// left behind are terminated.
    ///
    /// # Errors
    ///
    /// Returns an error if the directories cannot be used.
    pub fn new(options: LocalOptions) -> std::io::Result<Self> {
        let LocalOptions { work, logs, binary, start } = options;
        let leftovers = work.join("processes");
        std::fs::create_dir_all(&work)?;
        leftovers::end_all(&leftovers)?;
        let ground = ExecutionContext { work, logs, binary, start, leftovers, last_output: LastOutput::default() };
        Ok(Self { ground, node: this_machine(), running: Mutex::default() })
    }

    /// Kills all processes without waiting for their end, for a program that is about to exit.
    pub fn kill_all(&self) {
        if let Err(error) = leftovers::end_all(&self.ground.leftovers) {
            tracing::warn!("failed to end the processes of the run: {error}");
        }
    }

    /// Returns the last output of each plugin that has ended, at most 4 KiB each.
    #[must_use]
    pub fn last_output(&self) -> BTreeMap<ResultKey, String> {
        self.ground.last_output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, plugin: &PluginName) -> Vec<mpsc::Sender<Control>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(plugin).unwrap_or_default()
    }

    async fn start(&self, launch: Launch, reports: mpsc::Sender<Report>) -> Result<(), DispatchError> {
        for key in &launch.missing {
            let execution = Execution::start(&self.ground, &launch, key, self.node.name.as_str())?;
            // There is at most one message: to settle or to kill.
            let (control, told) = mpsc::channel(1);
            tokio::spawn(execution.watch(told, reports.clone()));
            self.running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(key.plugin.clone())
                .or_default()
                .push(control);
        }
        Ok(())
    }
}

impl Dispatcher for LocalDispatcher {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, DispatchError>> {
        Box::pin(async { Ok(vec![self.node.clone()]) })
    }

    fn launch(&self, launch: Launch, reports: mpsc::Sender<Report>) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(self.start(launch, reports))
    }

    fn settle<'a>(&'a self, plugin: &'a PluginName) -> BoxFuture<'a, Vec<Exit>> {
        Box::pin(async {
            let mut exits = Vec::new();
            for execution in self.take(plugin) {
                let (answer, exit) = oneshot::channel();
                if execution.send(Control::Settle(answer)).await.is_ok() {
                    exits.extend(exit.await.ok().flatten());
                }
            }
            exits
        })
    }

    fn unsent(&self, key: &ResultKey) -> Option<Unsent> {
        execution::unsent(&self.ground.work, key)
    }

    fn cleanup(&self) -> BoxFuture<'_, Result<(), DispatchError>> {
        Box::pin(async {
            let all = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
            let mut ended = Vec::new();
            for execution in all.into_values().flatten() {
                let (answer, done) = oneshot::channel();
                if execution.send(Control::Kill(answer)).await.is_ok() {
                    ended.push(done);
                }
            }
            for done in ended {
                // The execution ended by itself before it could answer.
                let _ = done.await;
            }
            Ok(())
        })
    }
}
