//! The run loop, the only place that acts on the ledger's effects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use plumbline_archive::layout;
use plumbline_core::ledger::{Effect, ErrorRecord, Event};
use plumbline_core::{PluginName, ResultKey};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::begin::Run;
use super::blocking::{with_space, write_document};
use super::drive::{PendingLaunch, Rerun, drive, record};
use super::patience::StartPatience;
use super::process::CompletedPlugin;
use super::settings::{Finished, PluginOutcome, RunError};
use crate::dispatcher::{Launch, Report, WorkerContact};
use crate::journal::JournalError;
use crate::postprocess::{NodeOutcome, Outcome, TREE_FILE};
use crate::state::{State, publish_status};
use crate::workdir::STATUS_FILE;

/// Maximum number of queued reports. A dispatcher with more reports has to wait.
const REPORTS: usize = 1024;

/// The file that the end of a run writes to see whether the disk answers.
const PROBE_FILE: &str = "probe";

/// Interval of checks whether the journal has given up.
const HEALTH: Duration = Duration::from_secs(5);

/// A post-processed plugin, and how long that took.
type Processed = (PluginName, Duration, Result<Outcome, RunError>);

/// The post-processing of plugins. Each plugin is processed once, although both the ledger and the
/// effects of events before the loop say that it is complete.
#[derive(Default)]
struct Processing {
    /// Plugins whose processing was started. The errors in place of their results are written.
    started: BTreeSet<PluginName>,
    tasks: JoinSet<Processed>,
}

impl Run {
    /// Runs to the end: a failure of a plugin, a node or a module becomes a result. `cancel` ends
    /// the run early, and keeps everything that has arrived.
    ///
    /// # Errors
    /// [`RunError`] when this machine fails. The run can be resumed in its working directory.
    pub async fn execute(mut self, cancel: CancellationToken) -> Result<Finished, RunError> {
        let status = self.work.root().join(STATUS_FILE);
        let state = self.state.clone();
        let publisher = tokio::spawn(publish_status(state.clone(), self.work.disk().clone(), status));
        let result = unless_hung(&state, self.steer(&cancel)).await;
        if result.is_ok() {
            // An interrupted run must end soon, and its survey would read a whole cluster. It still
            // begins, to leave a note that it did not finish.
            tokio::select! {
                biased;
                () = self.dispatcher.survey() => {}
                () = cancel.cancelled() => {}
            }
        }
        if let Err(error) = self.dispatcher.cleanup().await {
            tracing::error!("failed to clean up: {error}");
        }
        publisher.abort();
        // It was aborted on purpose. `finish` writes the last status.
        let _ = publisher.await;
        result?;
        let probe = state.journal().hang().probe(self.work.disk().clone(), self.work.scratch().join(PROBE_FILE));
        let finish = async {
            tokio::select! {
                finished = Box::pin(self.finish(&cancel)) => finished,
                never = probe => match never {},
            }
        };
        unless_hung(&state, finish).await
    }

    async fn steer(&mut self, cancel: &CancellationToken) -> Result<(), RunError> {
        let (reports, mut reported) = mpsc::channel(REPORTS);
        let driver = drive(self.pending()?, self.state.clone(), Arc::clone(&self.dispatcher), reports);
        tokio::pin!(driver);
        let mut driving = true;
        let mut cancelled = false;
        let mut processing = Processing::default();
        let mut left = self.resume(&mut processing, cancel).await?;

        let mut health = tokio::time::interval(HEALTH);
        while !left.is_empty() {
            let deadline = self.state.read(|ledger| ledger.next_deadline(self.state.now()));
            tokio::select! {
                // Handle effects first, so that an error is written before its plugin is processed.
                biased;
                Some(effect) = self.effects.recv() => match effect {
                    Effect::ResultFailed { key, .. } if processing.started.contains(&key.plugin) => {}
                    Effect::ResultFailed { key, error } => self.write_error(&key, &error, cancel).await?,
                    Effect::PluginComplete { plugin } => self.process(&plugin, &mut processing, cancel),
                    Effect::PluginSkipped { plugin } => drop(left.remove(&plugin)),
                    Effect::ResultReceived { .. } | Effect::RunComplete | Effect::StatusChanged => {}
                },
                // A report may be the reason of an interruption. While the journal cannot accept
                // reports, they stay in the queue.
                Some(report) = reported.recv(), if self.state.journal().has_room() => self.take(report),
                () = cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    driving = false;
                    tracing::warn!("interrupted: results so far are kept");
                    self.state.apply(Event::Interrupted)?;
                }
                Some(done) = processing.tasks.join_next() => {
                    let (plugin, took, outcome) = done.map_err(|error| RunError::io("post-process")(error.into()))?;
                    let outcome = outcome?;
                    self.state.metrics().post_processed(&plugin, took, &outcome.usage);
                    self.processed(&plugin, outcome).await?;
                    left.remove(&plugin);
                }
                () = &mut driver, if driving => driving = false,
                () = until(deadline, &self.state) => self.state.tick(),
                _ = health.tick() => self.state.journal().check()?,
            }
        }
        self.remove_skipped();
        Ok(())
    }

    /// Continues the work of the last process: writes errors that it recorded, and starts
    /// post-processing. Returns the plugins that are left.
    async fn resume(
        &self,
        processing: &mut Processing,
        cancel: &CancellationToken,
    ) -> Result<BTreeSet<PluginName>, RunError> {
        let mut left = BTreeSet::new();
        for name in self.plugins.iter().map(|plugin| plugin.name()) {
            if self.state.read(|ledger| ledger.skipped(name).is_some()) {
                continue;
            }
            left.insert(name.clone());
            // First, because only a complete plugin gets no further errors.
            let is_complete = self.state.read(|ledger| ledger.missing(name).is_empty());
            for (key, error) in self.recorded_errors(name) {
                if !self.work.tree().join(layout::error_file(&key.plugin, &key.node)).exists() {
                    self.write_error(&key, &error, cancel).await?;
                }
            }
            if is_complete {
                self.process(name, processing, cancel);
            }
        }
        Ok(left)
    }

    /// Removes skipped plugins, which the archive does not contain.
    fn remove_skipped(&mut self) {
        let state = self.state.clone();
        let is_there = |name: &PluginName| state.read(|ledger| ledger.skipped(name).is_none());
        self.plugins.retain(|plugin| is_there(plugin.name()));
        if let Some(entries) = self.modules.get_mut("plugins").and_then(Value::as_array_mut) {
            let name = |plugin: &Value| plugin.get("plugin")?.as_str()?.parse().ok();
            entries.retain(|plugin| name(plugin).is_none_or(|name| is_there(&name)));
        }
    }

    fn take(&self, report: Report) {
        match report {
            Report::Failed { key, error } => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "{}", error.error);
                record(&self.state, Event::Failed { key, error });
            }
            Report::Problem { key, reason } => {
                match &reason {
                    Some(reason) => tracing::warn!(plugin = %key.plugin, node = %key.node, "still waiting: {reason}"),
                    None => tracing::info!(plugin = %key.plugin, node = %key.node, "recovered"),
                }
                record(&self.state, Event::Problem { key, reason });
            }
            Report::PluginEnded { key } => self.state.plugin_ended(key),
        }
    }

    /// Returns the plugins to launch, which are those with missing results.
    fn pending(&self) -> Result<Vec<PendingLaunch>, RunError> {
        let mut pending = Vec::new();
        for plugin in &self.plugins {
            let missing: Vec<ResultKey> =
                self.state.read(|ledger| ledger.missing(plugin.name()).into_iter().cloned().collect());
            if missing.is_empty() {
                continue;
            }
            let timeout = match plugin.source.definition.plumbline.timeout {
                Some(timeout) => (!timeout.is_zero()).then_some(timeout),
                None => (self.record.timeout_seconds > 0).then(|| Duration::from_secs(self.record.timeout_seconds)),
            };
            let launch = Launch {
                run: self.record.run,
                definition: self.traced(&plugin.source.definition),
                bundle: plugin.source.bundle.clone(),
                check: plugin.check.as_ref().map(|check| check.launch(timeout)),
                missing,
                access: self.access(plugin)?,
                heard: self.heard(),
            };
            let rerun = plugin.source.definition.plumbline.reruns.as_ref().map(|reruns| Rerun {
                reruns: reruns.clone(),
                tree: self.work.tree().join(layout::plugin_dir(&reruns.plugin)).join(TREE_FILE),
            });
            let (deadline, collect) = (self.deadline(), self.settings.collect);
            let patience = StartPatience { limit: self.settings.launch_patience, ..self.settings.patience.clone() };
            pending.push(PendingLaunch { launch, timeout, deadline, collect, patience, rerun });
        }
        Ok(pending)
    }

    fn heard(&self) -> WorkerContact {
        let (state, results, clock) = (self.state.clone(), self.state.clone(), self.state.clone());
        WorkerContact::new(move |key| state.read(|ledger| ledger.last_heard(key)))
            .with_missing(move |key| results.read(|ledger| ledger.is_missing(key)))
            .with_clock(move || clock.now())
    }

    fn deadline(&self) -> Option<Timestamp> {
        let seconds = i64::try_from(self.record.deadline_seconds).unwrap_or(i64::MAX);
        (seconds > 0).then(|| {
            let limit = SignedDuration::from_secs(seconds);
            self.record.started.checked_add(limit).unwrap_or(Timestamp::MAX)
        })
    }

    /// Returns the errors that replace results of a plugin.
    fn recorded_errors(&self, plugin: &PluginName) -> Vec<(ResultKey, ErrorRecord)> {
        self.state.read(|ledger| {
            let keys = ledger.keys_of(plugin);
            keys.filter_map(|key| Some((key.clone(), ledger.error(key)?.clone()))).collect()
        })
    }

    async fn write_error(
        &self,
        key: &ResultKey,
        error: &ErrorRecord,
        cancel: &CancellationToken,
    ) -> Result<(), RunError> {
        let path = self.work.tree().join(layout::error_file(&key.plugin, &key.node));
        let what = format!("write the error of result `{key}`");
        let (document, name) = (error.to_error_json(), what.clone());
        let (disk, reserve) = (self.work.disk().clone(), self.state.journal().reserve());
        with_space(&what, reserve, cancel, move || write_document(&disk, &path, &document, &name)).await
    }

    /// Starts post-processing of a plugin whose results are complete, unless it was started.
    fn process(&self, plugin: &PluginName, processing: &mut Processing, cancel: &CancellationToken) {
        let Some(planned) = self.plugins.iter().find(|planned| planned.name() == plugin).cloned() else { return };
        if !processing.started.insert(plugin.clone()) {
            return;
        }
        let received =
            self.state.read(|ledger| ledger.keys_of(plugin).filter(|key| ledger.is_received(key)).cloned().collect());
        let completed = CompletedPlugin {
            run: self.record.run,
            planned,
            received,
            dispatcher: Arc::clone(&self.dispatcher),
            disk: self.work.disk().clone(),
            store: self.store.clone(),
            reserve: self.state.journal().reserve().clone(),
            tree: self.work.tree(),
            scratch: self.work.scratch(),
            ends: self.work.ends(),
            limits: self.settings.receive.clone(),
            failed: self.recorded_errors(plugin),
        };
        let (plugin, cancel) = (plugin.clone(), cancel.clone());
        processing.tasks.spawn(async move {
            let start = Instant::now();
            let outcome = completed.process(&cancel).await;
            (plugin, start.elapsed(), outcome)
        });
    }

    async fn processed(&mut self, plugin: &PluginName, mut outcome: Outcome) -> Result<(), RunError> {
        tracing::info!(%plugin, status = %outcome.total.status, items = outcome.items, "post-processed");
        let keys: Vec<ResultKey> = self.state.read(|ledger| ledger.keys_of(plugin).cloned().collect());
        // The ledger has them from here on.
        let mut nodes = std::mem::take(&mut outcome.nodes);
        for key in keys {
            if let Some(NodeOutcome { status, counts }) = nodes.remove(key.node.as_str()) {
                self.state.apply(Event::PostProcessed { key, status, counts })?;
            }
        }
        let launched = self.state.read(|ledger| ledger.launched(plugin));
        let elapsed = launched.and_then(|at| Duration::try_from(self.state.now().duration_since(at)).ok());
        let total = outcome.total.clone();
        self.outcomes.insert(plugin.clone(), PluginOutcome { plugin: plugin.clone(), outcome, elapsed });
        let event = Event::PluginPostProcessed { plugin: plugin.clone(), status: total.status, counts: total.counts };
        Ok(self.state.apply_durable(event).await?)
    }
}

/// Returns the result of `part`, or an error if the disk does not answer for too long.
async fn unless_hung<T>(state: &State, part: impl Future<Output = Result<T, RunError>>) -> Result<T, RunError> {
    tokio::select! {
        biased;
        done = Box::pin(part) => done,
        () = state.journal().hang().given_up() => Err(JournalError::Hung.into()),
    }
}

async fn until(deadline: Option<Timestamp>, state: &State) {
    match deadline {
        // If the retry window has already ended, do not wait.
        Some(deadline) => {
            let wait = deadline.duration_since(state.now());
            tokio::time::sleep(Duration::try_from(wait).unwrap_or_default()).await;
        }
        None => std::future::pending().await,
    }
}
