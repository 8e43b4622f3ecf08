//! Runs a case and returns its actual output.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::civil::Date;
use plumbline_aggregator::{
    Judged, ModuleError, Modules, PlanError, PlannedPlugin, Source, TREE_FILE, Usage, judge_measured, keep_tree,
    post_process, prepare, result_sets,
};
use plumbline_core::Item;
use plumbline_core::definition::Definition;
use plumbline_sandbox::{ModuleFailure, PluginInfo};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::case::{
    ARCHIVE, CHECK_INPUT, Case, CaseKind, DEFINITION, NODES, OPTIONS, Project, RESULTS, TREE, definition, parse_nodes,
};
use super::checked::checked;
use super::runner::Runner;
use crate::snapshot::read;

/// The hint for a missing module.
const BUILD_FIRST: &str = "build the module first: `plumbline plugin build`";
/// Maximum size in bytes of `nodes.yaml` and `options.yaml`: enough for a cluster of 5,000 nodes.
const MAX_DOCUMENT: u64 = 16 << 20;
/// Maximum size in bytes of a tree. People read golden cases.
pub(super) const MAX_TREE: u64 = 64 << 20;
/// The day that judges see, unless the case sets another one. With the real day, a case with an
/// entry that expires would suddenly fail.
const DAY: Date = Date::constant(2000, 1, 1);

/// The actual output.
#[derive(Debug)]
pub(super) struct Actual {
    /// The text to compare with `expected.yaml`.
    pub(super) text: String,
    /// The wall-clock time of the module's call and of the host's work around it.
    pub(super) wall: Duration,
    /// What the calls used, and how they failed.
    pub(super) usage: Usage,
    /// Objects that a check read and the case does not have, one sentence each.
    pub(super) unrecorded: Vec<String>,
}

impl Actual {
    fn new(text: String, wall: Duration, usage: Usage) -> Self {
        Self { text, wall, usage, unrecorded: Vec::new() }
    }
}

/// Returns the plugin for `case`, with its modules compiled. The error is a sentence.
pub(crate) fn planned(project: &Project, case: &Case, runner: &Runner<'_>) -> Result<PlannedPlugin, String> {
    let source = source(project, case)?;
    let mut planned = prepare(runner.modules, runner.limits, source)
        .and_then(|planned| match case.kind {
            CaseKind::Check => planned.with_check(runner.modules, runner.limits),
            CaseKind::Results | CaseKind::Expectations | CaseKind::Judgement => Ok(planned),
        })
        .map_err(|error| match error {
            PlanError::Module { source: ModuleError::Unknown { .. } | ModuleError::NoCheck { .. }, .. } => {
                format!("{error}; {BUILD_FIRST}")
            }
            error => error.to_string(),
        })?;
    if matches!(case.kind, CaseKind::Results | CaseKind::Check)
        && let Some(warning) = planned.warnings().first()
    {
        // A run only adds this warning to the tree. A test would record the warning as expected
        // output.
        return Err(format!("{warning}; {BUILD_FIRST}"));
    }
    planned.ready().map_err(|error| error.to_string())?;
    // The sandbox counts whole seconds.
    let timeout = runner.timeout.as_secs().max(1);
    let judges = planned.judges.iter_mut().map(|judge| &mut judge.limits);
    let check = planned.check.iter_mut().map(|check| &mut check.limits);
    for limits in std::iter::once(&mut planned.limits).chain(judges).chain(check) {
        limits.wall_seconds = limits.wall_seconds.min(timeout);
    }
    Ok(planned)
}

fn source(project: &Project, case: &Case) -> Result<Source, String> {
    let own = case.dir.join(DEFINITION);
    let mut source = project.source.clone();
    if own.is_file() {
        source.definition = Arc::new(definition(&own).map_err(|error| error.to_string())?.0);
    }
    let path = case.dir.join(OPTIONS);
    if path.is_file() {
        let wrong = |error: &dyn Display| unusable(&path, error);
        let text = document(&path)?;
        let text = std::str::from_utf8(&text).map_err(|error| wrong(&error))?;
        let options: Map<String, Value> = serde_saphyr::from_str(text).map_err(|error| wrong(&error))?;
        let definition = Arc::make_mut(&mut source.definition);
        match case.kind {
            CaseKind::Results | CaseKind::Expectations | CaseKind::Check => {
                definition.plumbline.options.extend(options)
            }
            CaseKind::Judgement => set_judge_options(options, definition).map_err(|error| wrong(&error))?,
        }
    }
    Ok(source)
}

/// Applies the options of a case, which override those of the named judges in the chain. The error
/// is a sentence.
fn set_judge_options(options: Map<String, Value>, definition: &mut Definition) -> Result<(), String> {
    for (name, options) in options {
        let Value::Object(options) = options else {
            return Err(format!("`{name}`: the options of a judge must be a mapping"));
        };
        let chain = definition.plumbline.verdict.iter_mut();
        let mut entries = chain.filter(|entry| entry.judge == name).peekable();
        if entries.peek().is_none() {
            return Err(format!("`{name}` is not a judge of the chain: put options below the name of their judge"));
        }
        entries.for_each(|entry| entry.options.extend(options.clone()));
    }
    Ok(())
}

/// Runs `case`. The error is a sentence that says why the case could not be run.
pub(super) fn actual(project: &Project, case: &Case, runner: &Runner<'_>) -> Result<Actual, String> {
    let planned = planned(project, case, runner)?;
    match case.kind {
        CaseKind::Results => tree(&planned, case),
        CaseKind::Check => checked(&planned, case),
        CaseKind::Expectations => expected(planned, case, runner.modules),
        CaseKind::Judgement => verdict(&planned, case),
    }
}

fn tree(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
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
fn expected(mut planned: PlannedPlugin, case: &Case, modules: &Modules) -> Result<Actual, String> {
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
fn verdict(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
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
    let (mut verdict, usage) = judge_measured(&planned.judges, judged).map_err(|error| error.to_string())?;
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

/// Checks that an expected output does not contain paths of this machine.
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
