//! Launching: groups of plugins one after the other, each plugin with its own deadline.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::PluginName;
use plumbline_core::ledger::Event;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::dispatcher::{Dispatcher, Launch, Report};
use crate::state::State;

/// A plugin that is to be launched.
pub(super) struct Ready {
    pub(super) launch: Launch,
    pub(super) timeout: Option<Duration>,
}

impl Ready {
    fn plugin(&self) -> &PluginName {
        &self.launch.definition.name
    }
}

/// Launches every group in its order and returns when the last plugin is complete. Dropping it stops the deadlines; what runs is the
/// dispatcher's to end.
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

async fn one(ready: Ready, state: State, dispatcher: Arc<dyn Dispatcher>, reports: mpsc::Sender<Report>) {
    let plugin = ready.plugin().clone();
    if state.read(|ledger| ledger.is_plugin_complete(&plugin, Timestamp::now())) {
        return;
    }
    record(&state, Event::Launched { plugin: plugin.clone() });
    tracing::info!(%plugin, "launched");
    if let Err(error) = dispatcher.launch(ready.launch, reports).await {
        tracing::error!(%plugin, "failed to launch: {error}");
        record(&state, Event::LaunchFailed { plugin, reason: error.message });
        return;
    }
    let complete = complete(&plugin, &state);
    match ready.timeout {
        None => complete.await,
        Some(timeout) => {
            if tokio::time::timeout(timeout, complete).await.is_err() {
                tracing::warn!(%plugin, "no result after {} s", timeout.as_secs());
                record(&state, Event::TimedOut { plugin });
            }
        }
    }
}

async fn complete(plugin: &PluginName, state: &State) {
    let mut changes = state.changes();
    while !state.read(|ledger| ledger.is_plugin_complete(plugin, Timestamp::now())) {
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Everything that is recorded here follows from what the ledger said just before; a refusal means that the moment has passed.
pub(super) fn record(state: &State, event: Event) {
    if let Err(error) = state.apply(event) {
        tracing::warn!("not recorded: {error}");
    }
}
