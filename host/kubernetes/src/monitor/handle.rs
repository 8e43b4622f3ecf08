//! The public handle of the monitor.

use plumbline_aggregator::{Exit, Report};
use plumbline_core::PluginName;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::options::{MonitorOptions, Watched};
use super::work::{Command, Work};

/// Capacity of the command queue. There is one command for the start and one for the end of each
/// plugin.
const COMMANDS: usize = 64;

/// Watches the pods and nodes of one run, until it is stopped or dropped.
pub struct Monitor {
    commands: mpsc::Sender<Command>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    _guard: DropGuard,
}

impl Monitor {
    /// Starts watching and returns at once. API server errors are logged and retried.
    ///
    /// Must be called within a Tokio runtime.
    #[must_use]
    pub fn start(options: MonitorOptions) -> Self {
        let (commands, received) = mpsc::channel(COMMANDS);
        let stop = CancellationToken::new();
        let task = tokio::spawn(Work::new(options).run(received, stop.clone()));
        Self { commands, _guard: stop.clone().drop_guard(), stop, task: Mutex::new(Some(task)) }
    }

    /// Watches a plugin, and reports each of its missing results once through `reports`.
    pub async fn watch(&self, watched: Watched, reports: mpsc::Sender<Report>) {
        let plugin = watched.plugin.clone();
        if self.commands.send(Command::Watch(Box::new(watched), reports)).await.is_err() {
            tracing::warn!(%plugin, "not watched: the monitor was stopped");
        }
    }

    /// Captures the logs of a plugin whose results are complete, and stops watching it.
    ///
    /// Returns how its own containers ended, if they failed. May take some minutes while there are
    /// logs to read.
    pub async fn settle(&self, plugin: &PluginName) -> Vec<Exit> {
        let (reply, exits) = oneshot::channel();
        if self.commands.send(Command::Settle(plugin.clone(), reply)).await.is_err() {
            return Vec::new();
        }
        // There is no answer if the monitor was stopped meanwhile.
        exits.await.unwrap_or_default()
    }

    /// Stops watching.
    pub async fn stop(&self) {
        self.stop.cancel();
        if let Some(task) = self.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!("the monitor ended early: {error}");
        }
    }
}
