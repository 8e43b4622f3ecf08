//! Launching of plugins: groups one after another, and each plugin with its own deadline.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::ledger::Event;
use plumbline_core::{PluginName, ResultKey};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::rerun::{self, Rerun};
use crate::dispatcher::{Dispatcher, Launch, Report};
use crate::state::State;

/// A plugin to launch.
pub(super) struct Ready {
    pub(super) launch: Launch,
    pub(super) timeout: Option<Duration>,
    /// Deadline of the whole run.
    pub(super) deadline: Option<Timestamp>,
    /// How long workers may take to send partial results after the timeout.
    pub(super) collect: Duration,
    /// The plugin whose failed tests it reruns, if it is a rerun.
    pub(super) rerun: Option<Rerun>,
}

impl Ready {
    fn plugin(&self) -> &PluginName {
        &self.launch.definition.name
    }

    /// Returns the remaining time of the plugin: the rest of its own timeout since its first
    /// launch, but at most the rest of the run's. The first launch may have been before a restart.
    fn time(&self, state: &State) -> Option<Duration> {
        let now = state.now();
        let until = |at: Timestamp| Duration::try_from(at.duration_since(now)).unwrap_or_default();
        let launched = state.read(|ledger| ledger.launched(self.plugin())).unwrap_or(now);
        let passed = Duration::try_from(now.duration_since(launched)).unwrap_or_default();
        let own = self.timeout.map(|timeout| timeout.saturating_sub(passed));
        own.into_iter().chain(self.deadline.map(until)).min()
    }
}

/// Launches every group in order, and returns when the last plugin is complete. Dropping it stops
/// the deadlines, and the dispatcher must stop what is running.
pub(super) async fn drive(
    plugins: Vec<Ready>,
    state: State,
    dispatcher: Arc<dyn Dispatcher>,
    reports: mpsc::Sender<Report>,
) {
    let mut groups: BTreeMap<i64, Vec<Ready>> = BTreeMap::new();
    for ready in plugins {
        groups.entry(ready.launch.definition.order.into()).or_default().push(ready);
    }
    for group in groups.into_values() {
        let mut running = JoinSet::new();
        for ready in group {
            running.spawn(one(ready, state.clone(), Arc::clone(&dispatcher), reports.clone()));
        }
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended {
                tracing::error!("the task that watches a plugin ended: {error}");
            }
        }
    }
}

async fn one(mut ready: Ready, state: State, dispatcher: Arc<dyn Dispatcher>, reports: mpsc::Sender<Report>) {
    let plugin = ready.plugin().clone();
    if state.read(|ledger| ledger.is_plugin_complete(&plugin, state.now())) {
        return;
    }
    if let Some(rerun) = &ready.rerun {
        match rerun.ready(ready.launch.clone(), &state).await {
            rerun::Ready::Launch(launch) => ready.launch = launch,
            rerun::Ready::Skip(reason) => return skip_plugin(&plugin, reason, &state),
            rerun::Ready::Fail(reason) => {
                tracing::error!(%plugin, "not launched: {reason}");
                return record(&state, Event::LaunchFailed { plugin, reason });
            }
        }
    }
    if ready.time(&state).is_some_and(|left| left.is_zero()) {
        tracing::warn!(%plugin, "not launched: its time, or that of the run, is up");
        record(&state, Event::TimedOut { plugin });
        return;
    }
    record(&state, Event::Launched { plugin: plugin.clone() });
    tracing::info!(%plugin, "launched");
    let (time, patience) = (ready.time(&state), ready.collect);
    if let Err(error) = dispatcher.launch(ready.launch, reports).await {
        tracing::error!(%plugin, "failed to launch: {error}");
        record(&state, Event::LaunchFailed { plugin, reason: error.message });
        return;
    }
    let complete = complete(&plugin, &state);
    match time {
        None => complete.await,
        Some(timeout) => {
            if tokio::time::timeout(timeout, complete).await.is_err() {
                tracing::warn!(%plugin, "no result after {} s", timeout.as_secs());
                collect(&plugin, &state, patience).await;
                record(&state, Event::TimedOut { plugin });
            }
        }
    }
}

/// Skips a plugin. One that was launched before a restart has expected results, so it cannot be
/// skipped any more, and fails instead.
fn skip_plugin(plugin: &PluginName, reason: String, state: &State) {
    let plugin = plugin.clone();
    if state.read(|ledger| ledger.launched(&plugin).is_some()) {
        tracing::error!(%plugin, "launched before, and now there is nothing to do for it: {reason}");
        return record(state, Event::LaunchFailed { plugin, reason });
    }
    tracing::info!(%plugin, "skipped: {reason}");
    record(state, Event::Skipped { plugin, reason });
}

/// Asks the workers that have sent a message for partial results, and waits until all have sent
/// them, but at most for `patience`.
async fn collect(plugin: &PluginName, state: &State, patience: Duration) {
    if patience.is_zero() {
        return;
    }
    state.ask_partial(plugin);
    let mut changes = state.changes();
    let collected = async {
        loop {
            let awaited: Vec<ResultKey> = state.read(|ledger| {
                let missing = ledger.missing(plugin).into_iter();
                missing.filter(|key| ledger.last_heard(key).is_some()).cloned().collect()
            });
            if !awaited.iter().any(|key| state.wants_partial(key)) || changes.changed().await.is_err() {
                return;
            }
        }
    };
    // A worker that has not sent anything by then has nothing, or is gone.
    let _ = tokio::time::timeout(patience, collected).await;
    state.end_partial(plugin);
}

async fn complete(plugin: &PluginName, state: &State) {
    let mut changes = state.changes();
    while !state.read(|ledger| ledger.is_plugin_complete(plugin, state.now())) {
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Records an event that follows from the current state of the ledger. A rejection means that the
/// state has changed in between.
pub(super) fn record(state: &State, event: Event) {
    if let Err(error) = state.apply(event) {
        tracing::warn!("not recorded: {error}");
    }
}
