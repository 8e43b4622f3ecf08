//! End of a run: additional documents for the archive, the archive itself, and the cleanup.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumbline_archive::disk::Disk;
use plumbline_archive::layout;
use plumbline_archive::pack::{PackOptions, Packed, write_archive};
use plumbline_core::ledger::Event;
use plumbline_core::limits::ARCHIVE_ENTRIES;
use plumbline_core::run_status::TarInfo;
use plumbline_core::{RunId, session_id};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::begin::Run;
use super::error::RunError;
use super::finished::Finished;
use super::judge::judge;
use super::space::with_space;
use crate::plan::PlannedPlugin;
use crate::postprocess::Failure;
use crate::publish;
use crate::workdir::{RunRecord, WorkDir};

/// `Version` in `meta/config.json`, by which readers of archives recognize the layout. It is the
/// first Sonobuoy version with the layout that is written here.
const LAYOUT_VERSION: &str = "v0.57.0";

impl Run {
    /// Writes the archive and removes the working directory. The order makes a crash at any time
    /// harmless: the archive, the event that records it, the caller's record, and finally the
    /// removal.
    pub(super) async fn finish(self, cancel: &CancellationToken) -> Result<Finished, RunError> {
        let Self { record, settings, work, plugins, state, server, url, mut outcomes, modules, .. } = self;
        server.stop().await;

        let (disk, tree) = (work.disk().clone(), work.tree());
        let documents = documents(settings.config, &record, &url, &plugins, modules);
        write_documents(&disk, &tree, documents).await?;
        // An interrupted run must end soon, and its verdict is only that it was interrupted.
        if !state.read(plumbline_core::Ledger::is_interrupted) {
            let day = record.started.to_zoned(TimeZone::UTC).date();
            for plugin in plugins.iter().filter(|plugin| !plugin.judges.is_empty()) {
                let verdict = judge(&state, plugin, &disk, &tree, &work.scratch(), day).await?;
                if let (Some(verdict), Some(outcome)) = (&verdict, outcomes.get_mut(plugin.name())) {
                    // List the failures that count, not the excused ones.
                    outcome.outcome.failures = Failure::of_verdict(verdict, &outcome.outcome.failures);
                }
            }
        }
        let output = unused(settings.output.join(layout::archive_name(record.started, &record.run)));
        // Everything that was received must fit, whatever limit the operator sets. The other half
        // is for the documents of the run.
        let entries = ARCHIVE_ENTRIES.max(settings.receive.run_entries.saturating_mul(2));
        let options = PackOptions { entries, disk: disk.clone(), ..PackOptions::default() };
        let pack = move || write_archive(&tree, &output, &options).map_err(RunError::Archive);
        let packed: Packed = with_space("write the archive", cancel, pack).await?;
        for skipped in &packed.skipped {
            tracing::warn!("not in the archive: {skipped}");
        }

        let name = packed.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let tar = TarInfo { name, created: Timestamp::now(), sha256: packed.sha256.clone(), size: packed.bytes };
        state.apply_durable(Event::Archived { tar }).await?;
        publish::write(&state, &disk, &work.status()).await;
        let (status, verdict) = (state.status(), state.read(|ledger| ledger.verdict(Timestamp::now())));
        match settings.on_archived.map_or(Ok(()), |keep| keep(&status)) {
            Ok(()) => remove(work).await,
            Err(error) => tracing::error!(
                "the working directory `{}` stays: the end of the run could not be recorded: {error}",
                work.root().display()
            ),
        }
        Ok(Finished {
            run: record.run,
            started: record.started,
            plugins: plugins.iter().filter_map(|plugin| outcomes.remove(plugin.name())).collect(),
            status,
            verdict,
            archive: packed.path,
            bytes: packed.bytes,
            sha256: packed.sha256,
        })
    }
}

/// Removes the working directory. A failure is only logged, because the archive is complete.
async fn remove(work: WorkDir) {
    match tokio::task::spawn_blocking(move || work.remove()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("{error}"),
        Err(error) => tracing::warn!("failed to remove the working directory: {error}"),
    }
}

/// Returns `archive`, or the first unused name `…-2.tar.gz`, `…-3.tar.gz`. An existing archive is
/// never overwritten.
fn unused(archive: PathBuf) -> PathBuf {
    let name = archive.to_string_lossy().into_owned();
    let stem = name.strip_suffix(".tar.gz").unwrap_or(&name);
    let others = (2..).map(|n| PathBuf::from(format!("{stem}-{n}.tar.gz")));
    std::iter::once(archive).chain(others).find(|path| !path.exists()).unwrap_or_default()
}

/// Returns the additional documents of the archive: their paths in the tree, and their contents.
fn documents(
    mut config: Map<String, Value>,
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
    let mut documents = vec![
        (layout::META_CONFIG.to_owned(), config),
        (layout::META_INFO.to_owned(), json!({"plugins": names})),
        (layout::META_MODULES.to_owned(), modules),
    ];
    for plugin in plugins {
        documents.push((layout::definition_file(plugin.name()), definition(plugin, &record.run, &place)));
    }
    documents
}

/// Writes `documents` below `tree`.
async fn write_documents(disk: &Disk, tree: &Path, documents: Vec<(String, Value)>) -> Result<(), RunError> {
    let (disk, tree) = (disk.clone(), tree.to_owned());
    let written = tokio::task::spawn_blocking(move || {
        for (path, document) in documents {
            let path = tree.join(path);
            let failed = |source| RunError::Io { what: format!("write `{}`", path.display()), source };
            if let Some(parent) = path.parent() {
                disk.create_directories(parent).map_err(failed)?;
            }
            disk.replace(&path, document.to_string().as_bytes(), 0o644).map_err(failed)?;
        }
        Ok(())
    });
    written
        .await
        .map_err(|error| RunError::Io { what: "write the documents of the run".into(), source: error.into() })?
}

/// Returns the parts of the configuration that `definition.json` repeats.
fn place(config: &Map<String, Value>) -> Map<String, Value> {
    let taken = |key: &str| config.get(key).cloned().unwrap_or_else(|| json!(""));
    let mut place = Map::new();
    place.insert("Namespace".into(), taken("Namespace"));
    place.insert("SonobuoyImage".into(), taken("WorkerImage"));
    place.insert("ImagePullPolicy".into(), taken("ImagePullPolicy"));
    place.insert("ImagePullSecrets".into(), taken("ImagePullSecrets"));
    place.insert("CustomAnnotations".into(), config.get("CustomAnnotations").cloned().unwrap_or(Value::Null));
    place
}

/// Returns the `definition.json` of a plugin, with the keys that readers of archives expect.
fn definition(plugin: &PlannedPlugin, run: &RunId, place: &Map<String, Value>) -> Value {
    let mut document = place.clone();
    document.insert("Definition".into(), plugin.source.definition.to_json());
    document.insert("SessionID".into(), json!(session_id(run, plugin.name())));
    document.insert("CleanedUp".into(), json!(!plugin.source.definition.skip_cleanup));
    Value::Object(document)
}
