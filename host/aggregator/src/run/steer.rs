//! The run loop, the only place that acts on the ledger's effects.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_archive::disk::Disk;
use plumbline_archive::layout;
use plumbline_core::definition::RAW_FORMAT;
use plumbline_core::ledger::{Effect, ErrorRecord, Event, KeyState};
use plumbline_core::{PluginName, ResultKey};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::begin::Run;
use super::drive::{Ready, drive, record};
use super::error::RunError;
use super::finished::{Finished, PluginOutcome};
use super::judge::items_file;
use super::rerun::Rerun;
use super::space::{lacks_space, with_space};
use super::unsent;
use crate::dispatcher::{Dispatcher, Exit, Launch, Report, WorkerContact};
use crate::journal::JournalError;
use crate::postprocess::{EXIT_FILE, EXIT_SUCCESS, Outcome, PostProcessError, TREE_FILE, post_process};
use crate::publish::publish;
use crate::state::State;

/// Maximum number of queued reports. A dispatcher with more reports has to wait.
const REPORTS: usize = 1024;

/// Key of an error document with the files that the plugin wrote but did not send.
const PARTIAL_RESULTS: &str = "partial-results";

/// Interval of checks whether the journal has given up.
const HEALTH: Duration = Duration::from_secs(5);

type Processed = (PluginName, Result<Outcome, RunError>);

impl Run {
    /// Runs to the end, whatever happens: a failure of a plugin, a node or a module becomes a
    /// result. `cancel` ends the run early, and everything that has arrived is post-processed and
    /// kept.
    ///
    /// # Errors
    /// [`RunError`] when this machine fails, such as for a full disk. Everything that was received
    /// stays in the working directory, and the run can be resumed there.
    pub async fn execute(mut self, cancel: CancellationToken) -> Result<Finished, RunError> {
        let publisher = tokio::spawn(publish(self.state.clone(), self.work.disk().clone(), self.work.status()));
        let result = self.steer(&cancel).await;
        if result.is_ok() {
            // An interrupted run must end soon, and its survey would read a whole cluster.
            tokio::select! {
                () = cancel.cancelled() => {}
                () = self.dispatcher.survey() => {}
            }
        }
        if let Err(error) = self.dispatcher.cleanup().await {
            tracing::error!("failed to clean up: {error}");
        }
        publisher.abort();
        // It was aborted on purpose. `finish` writes the last status.
        let _ = publisher.await;
        result?;
        self.finish(&cancel).await
    }

    async fn steer(&mut self, cancel: &CancellationToken) -> Result<(), RunError> {
        let (reports, mut reported) = mpsc::channel(REPORTS);
        let ready = self.ready()?;
        let driver = drive(ready, self.state.clone(), Arc::clone(&self.dispatcher), reports);
        tokio::pin!(driver);
        let mut driving = true;
        let mut cancelled = false;
        let mut processing: JoinSet<Processed> = JoinSet::new();
        let mut left: BTreeSet<PluginName> = self.plugins.iter().map(|plugin| plugin.name().clone()).collect();

        // In a resumed run, the last process may have recorded errors without writing them, and
        // plugins may wait for post-processing.
        for (key, error) in self.recorded_errors() {
            if !self.work.tree().join(layout::error_file(&key.plugin, &key.node)).exists() {
                self.write_error(&key, &error, cancel).await?;
            }
        }
        for plugin in &self.plugins {
            if self.is_skipped(plugin.name()) {
                left.remove(plugin.name());
            } else if self.state.read(|ledger| ledger.is_plugin_complete(plugin.name(), self.state.now())) {
                self.process(plugin.name(), &mut processing, cancel);
            }
        }

        let mut health = tokio::time::interval(HEALTH);
        while !left.is_empty() {
            let deadline = self.state.read(|ledger| ledger.next_deadline(self.state.now()));
            tokio::select! {
                // Handle effects first, so that an error is written before its plugin is processed.
                biased;
                Some(effect) = self.effects.recv() => match effect {
                    Effect::ResultFailed { key, error } => self.write_error(&key, &error, cancel).await?,
                    Effect::PluginComplete { plugin } => self.process(&plugin, &mut processing, cancel),
                    Effect::PluginSkipped { plugin } => drop(left.remove(&plugin)),
                    Effect::ResultReceived { .. } | Effect::RunComplete | Effect::StatusChanged => {}
                },
                // Handle reports before an interruption, because a report may be the reason of the
                // interruption.
                Some(report) = reported.recv() => self.take(report),
                () = cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    driving = false;
                    tracing::warn!("interrupted: what was gathered so far is kept");
                    self.state.apply(Event::Interrupted)?;
                }
                Some(done) = processing.join_next() => {
                    let (plugin, outcome) = joined(done)?;
                    self.processed(&plugin, outcome?).await?;
                    left.remove(&plugin);
                }
                () = &mut driver, if driving => driving = false,
                () = until(deadline, &self.state) => self.state.tick(),
                _ = health.tick() => {
                    if self.state.is_journal_lost() {
                        return Err(JournalError::Closed.into());
                    }
                }
            }
        }
        // The archive does not contain plugins that were skipped.
        let state = self.state.clone();
        let is_there = |name: &PluginName| state.read(|ledger| ledger.skipped(name).is_none());
        self.plugins.retain(|plugin| is_there(plugin.name()));
        if let Some(told) = self.modules.get_mut("plugins").and_then(Value::as_array_mut) {
            let name = |plugin: &Value| plugin.get("plugin")?.as_str()?.parse().ok();
            told.retain(|plugin| name(plugin).is_none_or(|name| is_there(&name)));
        }
        Ok(())
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
                    None => tracing::info!(plugin = %key.plugin, node = %key.node, "no longer in trouble"),
                }
                record(&self.state, Event::Problem { key, reason });
            }
            Report::PluginEnded { key } => self.state.plugin_ended(key),
        }
    }

    fn is_skipped(&self, plugin: &PluginName) -> bool {
        self.state.read(|ledger| ledger.skipped(plugin).is_some())
    }

    /// Returns the plugins to launch, which are those with missing results.
    fn ready(&self) -> Result<Vec<Ready>, RunError> {
        let mut ready = Vec::new();
        for plugin in &self.plugins {
            let missing: Vec<ResultKey> =
                self.state.read(|ledger| ledger.missing(plugin.name()).into_iter().cloned().collect());
            if missing.is_empty() {
                continue;
            }
            let launch = Launch {
                run: self.record.run,
                definition: Arc::clone(&plugin.source.definition),
                bundle: plugin.source.bundle.clone(),
                missing,
                access: self.access(plugin)?,
                heard: self.heard(),
            };
            let timeout = match plugin.source.definition.plumbline.timeout {
                Some(timeout) => (!timeout.is_zero()).then_some(timeout),
                None => (self.record.timeout_seconds > 0).then(|| Duration::from_secs(self.record.timeout_seconds)),
            };
            let rerun = plugin.source.definition.plumbline.reruns.as_ref().map(|reruns| Rerun {
                reruns: reruns.clone(),
                tree: self.work.tree().join(layout::plugin_dir(&reruns.plugin)).join(TREE_FILE),
            });
            ready.push(Ready { launch, timeout, deadline: self.deadline(), collect: self.settings.collect, rerun });
        }
        Ok(ready)
    }

    fn heard(&self) -> WorkerContact {
        let (state, results) = (self.state.clone(), self.state.clone());
        WorkerContact::new(move |key| state.read(|ledger| ledger.last_heard(key))).with_missing(move |key| {
            results.read(|ledger| {
                !matches!(ledger.state(key), None | Some(KeyState::Received { .. } | KeyState::Failed { .. }))
            })
        })
    }

    fn deadline(&self) -> Option<Timestamp> {
        let seconds = i64::try_from(self.record.deadline_seconds).unwrap_or(i64::MAX);
        (seconds > 0).then(|| {
            let limit = SignedDuration::from_secs(seconds);
            self.record.started.checked_add(limit).unwrap_or(Timestamp::MAX)
        })
    }

    fn recorded_errors(&self) -> Vec<(ResultKey, ErrorRecord)> {
        self.state.read(|ledger| {
            let keys = ledger.keys();
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
        let disk = self.work.disk().clone();
        with_space(&what, cancel, move || write(&disk, path.clone(), &document, &name)).await
    }

    /// Starts post-processing of a plugin whose results are complete.
    fn process(&self, plugin: &PluginName, processing: &mut JoinSet<Processed>, cancel: &CancellationToken) {
        let Some(planned) = self.plugins.iter().find(|planned| planned.name() == plugin).cloned() else { return };
        let dispatcher = Arc::clone(&self.dispatcher);
        let (disk, tree) = (self.work.disk().clone(), self.work.tree());
        let scratch = self.work.scratch();
        let cancel = cancel.clone();
        let limits = self.settings.receive.clone();
        let failed: Vec<_> = self.recorded_errors().into_iter().filter(|(key, _)| key.plugin == *plugin).collect();
        processing.spawn(async move {
            let plugin = planned.name().clone();
            let exits = settle(dispatcher.as_ref(), &plugin).await;
            let what = format!("post-process plugin `{plugin}`");
            let work = move || {
                // Exit code 0 matters only if the results are not read.
                let unread = planned.post_processor.name() == RAW_FORMAT;
                for exit in exits.iter().filter(|exit| unread || !exit.success) {
                    let path = tree.join(layout::errors_dir(&exit.key.plugin, &exit.key.node)).join(EXIT_FILE);
                    let document = match exit.success {
                        true => json!({"exit": exit.text, EXIT_SUCCESS: true}),
                        false => json!({"exit": exit.text}),
                    };
                    write(&disk, path, &document, &format!("write how `{}` ended", exit.key))?;
                }
                for (key, error) in &failed {
                    let target = tree.join(layout::result_dir(&key.plugin, &key.node));
                    let path = tree.join(layout::error_file(&key.plugin, &key.node));
                    let Some(unsent) = dispatcher.unsent(key) else {
                        if !has_partial_results(&path) {
                            // An upload failed in its last step, and the disk also failed to remove
                            // its files.
                            disk.remove_directory(&target).map_err(|source| RunError::Io {
                                what: format!("remove the files of failed result `{key}`"),
                                source,
                            })?;
                        }
                        continue;
                    };
                    let partial = match unsent::keep(&unsent, &target, &scratch, &limits) {
                        Ok(0) => continue,
                        Ok(files) => json!({ "files": files }),
                        // The files are still where the plugin wrote them, so another attempt can
                        // keep them.
                        Err(error) if lacks_space(&error) => {
                            let source = io::Error::new(io::ErrorKind::StorageFull, error);
                            return Err(RunError::Io { what: format!("keep the partial results of `{key}`"), source });
                        }
                        Err(error) => {
                            tracing::warn!(plugin = %key.plugin, node = %key.node, "partial results are lost: {error}");
                            json!({ "error": error.to_string() })
                        }
                    };
                    let document = error.clone().with(PARTIAL_RESULTS, partial).to_error_json();
                    write(&disk, path, &document, &format!("write the error of result `{key}`"))?;
                }
                let dir = tree.join(layout::plugin_dir(planned.name()));
                disk.create_directories(&dir)
                    .map_err(|source| RunError::Io { what: format!("create `{}`", dir.display()), source })?;
                let mut subject = planned.subject();
                if !planned.judges.is_empty() {
                    subject.keep_items = Some(items_file(&scratch, planned.name()));
                }
                let outcome = post_process(&subject, &dir, &planned.post_processor, &scratch, &dir.join(TREE_FILE));
                outcome.map_err(|error: PostProcessError| RunError::from(error))
            };
            (plugin, with_space(&what, &cancel, work).await)
        });
    }

    async fn processed(&mut self, plugin: &PluginName, outcome: Outcome) -> Result<(), RunError> {
        tracing::info!(%plugin, status = %outcome.total.status, items = outcome.items, "post-processed");
        let keys: Vec<ResultKey> = self.state.read(|ledger| ledger.keys_of(plugin).cloned().collect());
        for key in keys {
            if let Some(node) = outcome.nodes.get(key.node.as_str()) {
                let event = Event::PostProcessed { key, status: node.status.clone(), counts: node.counts.clone() };
                self.state.apply(event)?;
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

/// Returns whether the error document says that the result's directory has partial results.
fn has_partial_results(error: &Path) -> bool {
    let document = std::fs::read(error).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    document.is_some_and(|document| document.get(PARTIAL_RESULTS).is_some())
}

async fn settle(dispatcher: &dyn Dispatcher, plugin: &PluginName) -> Vec<Exit> {
    dispatcher.settle(plugin).await
}

fn joined(done: Result<Processed, JoinError>) -> Result<Processed, RunError> {
    done.map_err(|error| RunError::Io { what: "post-process".into(), source: error.into() })
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

fn write(disk: &Disk, path: PathBuf, document: &Value, what: &str) -> Result<(), RunError> {
    let failed = |source| RunError::Io { what: what.to_owned(), source };
    if let Some(parent) = path.parent() {
        disk.create_directories(parent).map_err(failed)?;
    }
    disk.replace(&path, document.to_string().as_bytes(), 0o644).map_err(failed)
}
