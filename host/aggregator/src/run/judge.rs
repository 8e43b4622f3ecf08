//! Judging at the end of a run: each plugin with a chain gets its verdict.

use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use plumbline_archive::disk::Disk;
use plumbline_archive::layout;
use plumbline_core::PluginName;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::ledger::Event;

use super::error::RunError;
use crate::judging::{Judged, judge_plugin};
use crate::plan::PlannedPlugin;
use crate::state::State;

/// Maximum size of a verdict that is read again after a restart, in bytes. Verdicts of a run are
/// far smaller.
const MAX_VERDICT: u64 = 512 << 20;

/// Returns the file with the items of a plugin's tree for its judges.
pub(super) fn items_file(scratch: &Path, plugin: &PluginName) -> PathBuf {
    scratch.join(format!("items-{plugin}"))
}

/// Judges `plugin`, unless that was done before, and records the verdict in the ledger. `tree` is
/// the content of the archive, and `day` is the day on which the run started.
pub(super) async fn judge(
    state: &State,
    plugin: &PlannedPlugin,
    disk: &Disk,
    tree: &Path,
    scratch: &Path,
    day: Date,
) -> Result<Option<PluginVerdict>, RunError> {
    let name = plugin.name().clone();
    let done = state.read(|ledger| ledger.plugin_verdict(&name).is_some());
    let (planned, disk, tree, scratch) = (plugin.clone(), disk.clone(), tree.to_owned(), scratch.to_owned());
    let judged = tokio::task::spawn_blocking(move || judged(&planned, &disk, &tree, &scratch, day, done));
    let judged = judged.await.map_err(|error| RunError::Io { what: "judge".into(), source: error.into() })??;
    if let Some(verdict) = &judged {
        let summary = verdict.summary();
        tracing::info!(plugin = %name, "judged: {}", summary.sentence());
        if state.read(|ledger| ledger.plugin_verdict(&name) != Some(&summary)) {
            state.apply_durable(Event::PluginJudged { plugin: name, summary }).await?;
        }
    }
    Ok(judged)
}

/// Returns the verdict of a plugin. `done` means that the ledger has it, so the file from before a
/// restart is complete.
fn judged(
    plugin: &PlannedPlugin,
    disk: &Disk,
    tree: &Path,
    scratch: &Path,
    day: Date,
    done: bool,
) -> Result<Option<PluginVerdict>, RunError> {
    let path = tree.join(layout::verdict_file(plugin.name()));
    if done && let Some(verdict) = written(&path) {
        return Ok(Some(verdict));
    }
    let items = items_file(scratch, plugin.name());
    if !items.exists() {
        // The plugin was skipped, so there is no tree.
        return Ok(None);
    }
    let info = plugin.info();
    let data = &plugin.source.definition.config_map;
    let verdict = judge_plugin(&plugin.judges, Judged { plugin: &info, items: &items, root: tree, data, day })?;
    let failed = |source: io::Error| RunError::Io { what: format!("write `{}`", path.display()), source };
    let document = serde_json::to_vec(&verdict).map_err(|error| failed(error.into()))?;
    disk.replace(&path, &document, 0o644).map_err(failed)?;
    Ok(Some(verdict))
}

fn written(path: &Path) -> Option<PluginVerdict> {
    let small = std::fs::symlink_metadata(path).ok()?.len() <= MAX_VERDICT;
    let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok()
}
