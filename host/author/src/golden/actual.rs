//! The actual outputs of cases that have results, nodes or a tree.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::civil::Date;
use plumbline_aggregator::{
    Judged, Modules, PlanError, PlannedPlugin, TREE_FILE, Usage, judge_plugin, keep_tree, post_process, result_sets,
};
use plumbline_core::Item;
use plumbline_sandbox::{ModuleFailure, PluginInfo};
use serde::Serialize;
use serde_json::json;
use tempfile::TempDir;

use super::case::{ARCHIVE, CHECK_INPUT, Case, NODES, RESULTS, TREE, parse_nodes};
use crate::snapshot::read;

/// Maximum size in bytes of `nodes.yaml` and `options.yaml`: enough for a cluster of 5,000 nodes.
const MAX_DOCUMENT: u64 = 16 << 20;
/// Maximum size in bytes of a tree. People read golden cases.
pub(super) const MAX_TREE: u64 = 64 << 20;
/// The day that judges see, unless the case sets another one. With the real day, a case with an
/// entry that expires would suddenly fail.
const DAY: Date = Date::constant(2000, 1, 1);

#[derive(Debug)]
pub(super) struct Actual {
    pub(super) text: String,
    /// The wall-clock time of the module's call and of the host's work around it.
    pub(super) wall: Duration,
    pub(super) usage: Usage,
    /// Objects that a check read and the case does not have, one sentence each.
    pub(super) unrecorded: Vec<String>,
}

impl Actual {
    fn new(text: String, wall: Duration, usage: Usage) -> Self {
        Self { text, wall, usage, unrecorded: Vec::new() }
    }
}

/// Post-processes the results of `case`. The output is the tree.
pub(super) fn tree(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
    if let Some(other) = CHECK_INPUT.iter().find(|name| case.dir.join(name).exists()) {
        return Err(format!("it has results and `{other}`: make two cases of them"));
    }
    tree_of(planned, &case.dir, &[&case.dir])
}

/// Post-processes the results in `dir`, as at the end of a run. The tree must not contain the paths
/// in `local`.
pub(super) fn tree_of(planned: &PlannedPlugin, dir: &Path, local: &[&Path]) -> Result<Actual, String> {
    let scratch = scratch()?;
    let path = scratch.path().join(TREE_FILE);
    let start = Instant::now();
    let outcome = post_process(&planned.subject(), dir, &planned.post_processor, scratch.path(), &path)
        .map_err(|error| error.to_string())?;
    let wall = start.elapsed();
    let bytes = read(&path, MAX_TREE).map_err(|error| format!("failed to read the tree: {error}"))?;
    if bytes.len() as u64 > MAX_TREE {
        return Err(format!("its tree is too large: more than {} MiB", MAX_TREE >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|error| format!("the tree is not UTF-8: {error}"))?;
    refuse_local_paths(&text, "its tree", &[&[scratch.path()][..], local].concat())?;
    Ok(Actual::new(text, wall, outcome.usage))
}

/// Returns the names of the expected results, sorted, because their order has no meaning. If the
/// module returns an error, the output is that error.
pub(super) fn expected(mut planned: PlannedPlugin, case: &Case, modules: &Modules) -> Result<Actual, String> {
    let other = RESULTS.iter().chain(&CHECK_INPUT).find(|name| case.dir.join(name).exists());
    if let Some(other) = other {
        return Err(format!("it has `{NODES}` and `{other}`: make two cases of them"));
    }
    let path = case.dir.join(NODES);
    let nodes = parse_nodes(&document(&path)?).map_err(|error| unusable(&path, &error))?;
    // Compile before the clock starts.
    let definition = Arc::clone(&planned.source.definition);
    let module = modules.expectations(planned.source.bundle.as_deref(), definition.expectations_module());
    module.and_then(|module| module.wait().map(drop)).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let asked = planned.expect(modules, &nodes);
    let wall = start.elapsed();
    let (text, usage) = match asked {
        Ok(stats) => {
            let mut names: Vec<String> = planned.expected.iter().map(|key| key.node.to_string()).collect();
            names.sort_unstable();
            (yaml(&names)?, Usage { memory: stats.memory, ..Usage::default() })
        }
        Err(PlanError::Expectations { source, .. }) => match *source {
            ModuleFailure::Refused(sentence) => {
                let text = yaml(&json!({"error": sentence}))?;
                (text, Usage { refused: vec![sentence], ..Usage::default() })
            }
            failure => (String::new(), Usage { broken: vec![failure.to_string()], ..Usage::default() }),
        },
        Err(error) => return Err(error.to_string()),
    };
    Ok(Actual::new(text, wall, usage))
}

/// Runs the chain of judges on the tree of `case`. The output is the verdict as it would be in the
/// archive. The digests of modules are left out, because they change with every build.
pub(super) fn verdict(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
    if let Some(other) = RESULTS.iter().chain(&CHECK_INPUT).find(|name| case.dir.join(name).exists()) {
        return Err(format!("it has `{TREE}` and `{other}`: make two cases of them"));
    }
    if planned.judges.is_empty() {
        return Err(format!(
            "it has `{TREE}`, but no judge reads it: the definition has no judge in `plumbline.verdict`"
        ));
    }
    let root = read_tree(&case.dir.join(TREE))?;
    let scratch = scratch()?;
    let failed = |error: &dyn Display| format!("failed to store its tree for the judges: {error}");
    let (items, mut archive) = (scratch.path().join("items"), case.dir.join(ARCHIVE));
    if !archive.exists() {
        archive = scratch.path().join(ARCHIVE);
        fs::create_dir(&archive).map_err(|error| failed(&error))?;
    }
    keep_tree(&root, &items).map_err(|error| failed(&error))?;
    let plugin = PluginInfo { expected_results: result_sets(&root), ..planned.info() };
    root.dismantle();
    let data = &planned.source.definition.config_map;
    let judged = Judged { plugin: &plugin, items: &items, root: &archive, data, day: DAY };
    let start = Instant::now();
    let (mut verdict, usage) = judge_plugin(&planned.judges, judged).map_err(|error| error.to_string())?;
    let wall = start.elapsed();
    verdict.chain.iter_mut().for_each(|judge| judge.digest.clear());
    let text = yaml(&verdict)?;
    refuse_local_paths(&text, "its verdict", &[scratch.path(), &case.dir])?;
    Ok(Actual::new(text, wall, usage))
}

fn read_tree(path: &Path) -> Result<Item, String> {
    let wrong = |error: &dyn Display| unusable(path, error);
    let bytes = read(path, MAX_TREE).map_err(|error| wrong(&error))?;
    if bytes.len() as u64 > MAX_TREE {
        return Err(wrong(&format_args!("it is larger than {} MiB", MAX_TREE >> 20)));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(&error))?;
    Item::parse(text).map_err(|error| wrong(&error))
}

pub(super) fn document(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = read(path, MAX_DOCUMENT).map_err(|error| format!("failed to read `{}`: {error}", path.display()))?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        return Err(format!("`{}` is larger than {} MiB", path.display(), MAX_DOCUMENT >> 20));
    }
    Ok(bytes)
}

pub(super) fn unusable(path: &Path, error: &dyn Display) -> String {
    format!("failed to use `{}`: {error}", path.display())
}

pub(super) fn scratch() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("failed to create a directory for temporary files: {error}"))
}

fn refuse_local_paths(text: &str, what: &str, places: &[&Path]) -> Result<(), String> {
    match places.iter().find(|place| place.to_str().is_some_and(|place| text.contains(place))) {
        Some(place) => Err(format!("{what} has the path `{}`, which differs between machines", place.display())),
        None => Ok(()),
    }
}

/// Returns the document as YAML with a line break at its end.
fn yaml(document: &impl Serialize) -> Result<String, String> {
    let text = serde_saphyr::to_string(document).map_err(|error| error.to_string())?;
    Ok(if text.ends_with('\n') { text } else { format!("{text}\n") })
}
