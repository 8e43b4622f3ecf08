//! End of a run: verdicts, additional documents for the archive, the archive itself, and the cleanup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use plumbline_archive::disk::Disk;
use plumbline_archive::gzip::Digest;
use plumbline_archive::layout;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::ledger::Event;
use plumbline_core::run_status::{RunStatus, TarInfo};
use plumbline_core::{PluginName, RunId, Verdict, session_id};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::begin::Run;
use super::blocking::{with_space, write_document};
use super::pack;
use super::settings::{ArchivedRun, Finished, OnArchived, RunError};
use super::traces;
use crate::judging::{Judged, judge_plugin};
use crate::plan::PlannedPlugin;
use crate::postprocess::Failure;
use crate::state::{State, write_status};
use crate::workdir::{RunRecord, STATUS_FILE, WorkDir};

/// Maximum size of a verdict that is read again after a restart, in bytes.
const MAX_VERDICT: u64 = 512 << 20;

/// `Version` in `meta/config.json`: the first Sonobuoy version with this layout.
const LAYOUT_VERSION: &str = "v0.57.0";

impl Run {
    /// Writes the archive and removes the working directory. The order makes a crash at any time
    /// harmless: the archive, its event, the caller's record, and the removal.
    ///
    /// An archive of this run with the same outcome is not replaced, because somebody may have read
    /// it.
    pub(super) async fn finish(self, cancel: &CancellationToken) -> Result<Finished, RunError> {
        let trace = self.trace();
        let Self { record, settings, work, plugins, state, server, url, mut outcomes, modules, exporter, .. } = self;
        server.stop().await;
        // A connection that is still open must not change what is packed.
        state.end_all_partial();

        let (disk, tree) = (work.disk().clone(), work.tree());
        let documents = documents(settings.config, settings.info, &record, &url, &plugins, modules);
        let (writer, root) = (disk.clone(), tree.clone());
        let write = move || {
            documents.iter().try_for_each(|(path, document)| {
                let path = root.join(path);
                write_document(&writer, &path, document, &format!("write `{}`", path.display()))
            })
        };
        with_space("write the documents of the run", state.journal().reserve(), cancel, write).await?;
        // An interrupted run must end soon, and its verdict is only that it was interrupted.
        if !state.read(plumbline_core::Ledger::is_interrupted) {
            let day = record.started.to_zoned(TimeZone::UTC).date();
            for plugin in plugins.iter().filter(|plugin| !plugin.judges.is_empty()) {
                let verdict = judge(&state, plugin, &disk, &tree, &work.scratch(), day, cancel).await?;
                if let Some(outcome) = outcomes.get_mut(plugin.name()) {
                    // List the failures that count, not the excused ones.
                    outcome.outcome.failures = Failure::of_verdict(&verdict, &outcome.outcome.failures);
                }
            }
        }
        // A power failure must not lose an event of which the archive shows the outcome.
        state.durable().await?;
        let name = layout::archive_name(record.started, &record.run);
        let archive = settings.output.join(&name);
        let Digest { bytes, sha256 } =
            pack::archive(&work, &archive, record.run, state.journal().reserve(), cancel).await?;
        let tar = TarInfo { name, created: Timestamp::now(), sha256: sha256.clone(), size: bytes };
        state.apply_durable(Event::Archived { tar }).await?;
        write_status(&state, &disk, &work.root().join(STATUS_FILE)).await;
        let status = state.status();
        let verdict = Verdict::from_run(&status);
        let recorded = match settings.on_archived {
            Some(keep) => record_end(keep, record.run, record.started, archive.clone(), status.clone()).await,
            None => Ok(()),
        };
        // The archive is complete and recorded, and the result trees are still there.
        if let (Some(exporter), Some(trace)) = (&exporter, &trace) {
            traces::export(exporter, trace, &state, record.started, &tree).await;
        }
        end(work, recorded).await;
        Ok(Finished {
            run: record.run,
            started: record.started,
            plugins: plugins.iter().filter_map(|plugin| outcomes.remove(plugin.name())).collect(),
            status,
            verdict,
            archive,
            bytes,
            sha256,
        })
    }
}

/// Calls `keep` with the archive of the run, on a thread that may block.
async fn record_end(
    keep: OnArchived,
    run: RunId,
    started: Timestamp,
    archive: PathBuf,
    status: RunStatus,
) -> io::Result<()> {
    let record = move || keep(&ArchivedRun { run: &run, started, archive: &archive, status: &status });
    tokio::task::spawn_blocking(record).await.map_err(io::Error::other).flatten()
}

/// Removes the working directory, unless the end of the run could not be recorded.
async fn end(work: WorkDir, recorded: io::Result<()>) {
    if let Err(error) = recorded {
        let dir = work.root().display();
        return tracing::error!("keeping the working directory `{dir}`: failed to record the end of the run: {error}");
    }
    match tokio::task::spawn_blocking(move || work.remove()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("{error}"),
        Err(error) => tracing::warn!("failed to remove the working directory: {error}"),
    }
}

/// Returns the additional documents of the archive: their paths in the tree, and their contents.
fn documents(
    mut config: Map<String, Value>,
    mut info: Map<String, Value>,
    record: &RunRecord,
    url: &str,
    plugins: &[PlannedPlugin],
    modules: Value,
) -> Vec<(String, Value)> {
    let place = place(&config);
    config.insert("UUID".into(), json!(record.run));
    config.insert("Version".into(), json!(LAYOUT_VERSION));
    config.insert("PlumblineVersion".into(), json!(env!("CARGO_PKG_VERSION")));
    config.insert("PlumblineStarted".into(), json!(record.started));
    let server = config.entry("Server").or_insert_with(|| json!({}));
    if let Some(server) = server.as_object_mut() {
        server.insert("advertiseaddress".into(), json!(url.trim_start_matches("https://")));
        server.insert("timeoutseconds".into(), json!(record.timeout_seconds));
    }
    let config = Value::Object(config);
    let mut names: Vec<&str> = plugins.iter().map(|plugin| plugin.name().as_str()).collect();
    names.sort_unstable();
    info.insert("plugins".into(), json!(names));
    let mut documents = vec![
        (layout::META_CONFIG.to_owned(), config),
        (layout::META_INFO.to_owned(), Value::Object(info)),
        (layout::META_MODULES.to_owned(), modules),
    ];
    for plugin in plugins {
        // With the keys that readers of archives expect.
        let mut definition = place.clone();
        definition.insert("Definition".into(), plugin.source.definition.to_json());
        definition.insert("SessionID".into(), json!(session_id(&record.run, plugin.name())));
        definition.insert("CleanedUp".into(), json!(!plugin.source.definition.skip_cleanup));
        documents.push((layout::definition_file(plugin.name()), Value::Object(definition)));
    }
    documents
}

/// Returns the parts of the configuration that `definition.json` repeats.
fn place(config: &Map<String, Value>) -> Map<String, Value> {
    let keys = [
        ("Namespace", "Namespace", json!("")),
        ("SonobuoyImage", "WorkerImage", json!("")),
        ("ImagePullPolicy", "ImagePullPolicy", json!("")),
        ("ImagePullSecrets", "ImagePullSecrets", json!("")),
        ("CustomAnnotations", "CustomAnnotations", Value::Null),
    ];
    let value = |key: &str, default| config.get(key).cloned().unwrap_or(default);
    keys.into_iter().map(|(name, key, default)| (name.to_owned(), value(key, default))).collect()
}

/// Returns the file with the items of a plugin's tree for its judges.
pub(super) fn items_file(scratch: &Path, plugin: &PluginName) -> PathBuf {
    scratch.join(format!("items-{plugin}"))
}

/// Judges `plugin`, unless that was done, and records the verdict. `tree` is the content of the
/// archive, and `day` is the start of the run.
async fn judge(
    state: &State,
    plugin: &PlannedPlugin,
    disk: &Disk,
    tree: &Path,
    scratch: &Path,
    day: Date,
    cancel: &CancellationToken,
) -> Result<PluginVerdict, RunError> {
    let name = plugin.name().clone();
    let done = state.read(|ledger| ledger.plugin_verdict(&name).is_some());
    let (planned, disk, tree, scratch) = (plugin.clone(), disk.clone(), tree.to_owned(), scratch.to_owned());
    let judge = move || judged(&planned, &disk, &tree, &scratch, day, done);
    let verdict = with_space(&format!("judge plugin `{name}`"), state.journal().reserve(), cancel, judge).await?;
    let summary = verdict.summary();
    tracing::info!(plugin = %name, "judged: {}", summary.sentence());
    if state.read(|ledger| ledger.plugin_verdict(&name) != Some(&summary)) {
        state.apply_durable(Event::PluginJudged { plugin: name, summary }).await?;
    }
    Ok(verdict)
}

/// Returns the verdict of a plugin. With `done`, the file from before a restart is complete.
fn judged(
    plugin: &PlannedPlugin,
    disk: &Disk,
    tree: &Path,
    scratch: &Path,
    day: Date,
    done: bool,
) -> Result<PluginVerdict, RunError> {
    let path = tree.join(layout::verdict_file(plugin.name()));
    if done && let Some(verdict) = written(&path) {
        return Ok(verdict);
    }
    let items = items_file(scratch, plugin.name());
    let info = plugin.info();
    let data = &plugin.source.definition.config_map;
    let (verdict, _) = judge_plugin(&plugin.judges, Judged { plugin: &info, items: &items, root: tree, data, day })?;
    let document = serde_json::to_vec(&verdict).map_err(io::Error::from);
    let written = document.and_then(|document| disk.replace(&path, &document, 0o644));
    written.map_err(RunError::io(format!("write `{}`", path.display())))?;
    Ok(verdict)
}

fn written(path: &Path) -> Option<PluginVerdict> {
    let small = fs::symlink_metadata(path).ok()?.len() <= MAX_VERDICT;
    let bytes = small.then(|| fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok()
}
