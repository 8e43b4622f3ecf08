//! Displays a run on this machine until it ends.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_aggregator::{Run, State};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::display::{Display, announce};
use super::plugins::{Logs, RunView, counted};
use crate::args::WaitOutput;

/// Minimum time between two looks, to limit the cost of runs with 10,000 results.
const LOOK: Duration = Duration::from_millis(200);
/// Maximum time between two looks if each look prints lines, because a stalled plugin changes
/// nothing.
const TICK: Duration = Duration::from_secs(30);

/// The task that displays a run. It ends with [`Watch::stop`].
pub(crate) struct Watch {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to display `run`, whose working directory is `work`.
    pub(crate) fn start(run: &Run, output: WaitOutput, continued: bool, work: &Path) -> Self {
        let stop = CancellationToken::new();
        let display = Display::new(output);
        let task = (!matches!(display, Display::Silent)).then(|| {
            let plugins = counted(run.plugins().len() as u64, "plugin");
            let again = if continued { " · continued" } else { "" };
            announce(&format!("run {} · {plugins} · this machine{again}", run.id().short()));
            let shown = Shown { state: run.state(), started: run.started(), work: work.to_owned(), display };
            tokio::spawn(shown.watch(stop.clone()))
        });
        Self { stop, task }
    }

    /// Displays the final state, and ends the task.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Some(task) = self.task
            && let Err(error) = task.await
        {
            tracing::debug!("the view of the run ended: {error}");
        }
    }
}

struct Shown {
    state: State,
    started: Timestamp,
    work: PathBuf,
    display: Display,
}

impl Shown {
    async fn watch(mut self, stop: CancellationToken) {
        let mut changes = self.state.changes();
        let tick = if matches!(self.display, Display::Events(_)) { TICK } else { LOOK };
        loop {
            changes.mark_unchanged();
            self.show();
            tokio::select! {
                () = stop.cancelled() => break,
                () = async {
                    tokio::time::sleep(LOOK).await;
                    // A timeout has the same effect as a change. The token signals the end of the
                    // run.
                    let _ = tokio::time::timeout(tick, changes.changed()).await;
                } => {}
            }
        }
        self.show();
        self.display.end();
    }

    fn show(&mut self) {
        let status = self.state.status();
        let logs = Logs::Local(&self.work);
        let run = RunView { status: &status, waiting: &[], started: Some(self.started), logs };
        self.display.update(run, Timestamp::now());
    }
}
