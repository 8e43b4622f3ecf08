//! Runs a case and returns its actual output.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use plumbline_aggregator::{
    ModuleError, Modules, PlanError, PlannedPlugin, Source, TREE_FILE, Usage, post_process, prepare,
};
use plumbline_sandbox::ModuleFailure;
use serde_json::{Map, Value};

use super::case::{Case, CaseKind, DEFINITION, NODES, OPTIONS};
use super::judgement;
use super::output::{Actual, MAX_TREE, ended, nothing_local, scratch};
use super::project::{Project, definition, read};
use super::runner::Runner;

/// The hint for a missing module.
const BUILD_FIRST: &str = "build the module first: `plumbline plugin build`";
/// Maximum size in bytes of `nodes.yaml` and `options.yaml`: enough for a cluster of 5,000 nodes.
const MAX_DOCUMENT: u64 = 16 << 20;

/// Returns the plugin for `case`, with its modules compiled. The error is a sentence.
pub(crate) fn planned(project: &Project, case: &Case, runner: &Runner<'_>) -> Result<PlannedPlugin, String> {
    let source = source(project, case)?;
    let mut planned = prepare(runner.modules, runner.limits, source).map_err(|error| match error {
        PlanError::Module { source: ModuleError::Unknown { .. }, .. } => format!("{error}; {BUILD_FIRST}"),
        error => error.to_string(),
    })?;
    if case.kind == CaseKind::Results
        && let Some(warning) = planned.warnings().first()
    {
        // A run only adds this warning to the tree. A test would record the warning as expected
        // output.
        return Err(format!("{warning}; {BUILD_FIRST}"));
    }
    planned.ready().map_err(|error| error.to_string())?;
    // The sandbox counts whole seconds.
    let timeout = runner.timeout.as_secs().max(1);
    let limits = std::iter::once(&mut planned.limits).chain(planned.judges.iter_mut().map(|judge| &mut judge.limits));
    for limits in limits {
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
        let wrong = |error: &dyn std::fmt::Display| format!("`{}` cannot be used: {error}", path.display());
        let text = document(&path)?;
        let text = std::str::from_utf8(&text).map_err(|error| wrong(&error))?;
        let options: Map<String, Value> = serde_saphyr::from_str(text).map_err(|error| wrong(&error))?;
        let definition = Arc::make_mut(&mut source.definition);
        match case.kind {
            CaseKind::Results | CaseKind::Expectations => definition.plumbline.options.extend(options),
            CaseKind::Judgement => judgement::apply(options, definition).map_err(|error| wrong(&error))?,
        }
    }
    Ok(source)
}

fn document(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = read(path, MAX_DOCUMENT).map_err(|error| format!("failed to read `{}`: {error}", path.display()))?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        return Err(format!("`{}` is larger than {} MiB", path.display(), MAX_DOCUMENT >> 20));
    }
    Ok(bytes)
}

/// Runs `case`. The error is a sentence that says why the case could not be run.
pub(super) fn actual(project: &Project, case: &Case, runner: &Runner<'_>) -> Result<Actual, String> {
    let planned = planned(project, case, runner)?;
    match case.kind {
        CaseKind::Results => tree(&planned, case),
        CaseKind::Expectations => expected(planned, case, runner.modules),
        CaseKind::Judgement => judgement::verdict(&planned, case),
    }
}

fn tree(planned: &PlannedPlugin, case: &Case) -> Result<Actual, String> {
    let scratch = scratch()?;
    let path = scratch.path().join(TREE_FILE);
    let start = Instant::now();
    let outcome = post_process(&planned.subject(), &case.dir, &planned.post_processor, scratch.path(), &path)
        .map_err(|error| error.to_string())?;
    let wall = start.elapsed();
    let bytes = read(&path, MAX_TREE).map_err(|error| format!("failed to read the tree: {error}"))?;
    if bytes.len() as u64 > MAX_TREE {
        return Err(format!("its tree is larger than {} MiB: nobody can read that", MAX_TREE >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|error| format!("the tree is not UTF-8: {error}"))?;
    nothing_local(&text, "its tree", &[scratch.path(), &case.dir])?;
    Ok(Actual::new(text, wall, outcome.usage))
}

/// Returns the names of the expected results, sorted, because their order has no meaning. If the
/// module returns an error, the output is that error.
fn expected(mut planned: PlannedPlugin, case: &Case, modules: &Modules) -> Result<Actual, String> {
    if ["results", "errors"].iter().any(|name| case.dir.join(name).exists()) {
        return Err(format!("it has `{NODES}` and results: make two cases of them"));
    }
    let path = case.dir.join(NODES);
    let nodes = super::nodes::parse(&document(&path)?)
        .map_err(|error| format!("`{}` cannot be used: {error}", path.display()))?;
    // Compile before the clock starts.
    let definition = Arc::clone(&planned.source.definition);
    let module = modules.expectations(planned.source.bundle.as_deref(), definition.expectations_module());
    module.and_then(|module| module.wait().map(drop)).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let asked = planned.expect(modules, &nodes);
    let wall = start.elapsed();
    let yaml = |value: &Value| serde_saphyr::to_string(value).map_err(|error| error.to_string());
    match asked {
        Ok(stats) => {
            let mut names: Vec<String> = planned.expected.iter().map(|key| key.node.to_string()).collect();
            names.sort_unstable();
            let usage = Usage { memory: stats.memory, ..Usage::default() };
            Ok(Actual::new(ended(yaml(&names.into())?), wall, usage))
        }
        Err(PlanError::Expectations { source, .. }) => match *source {
            ModuleFailure::Refused(sentence) => {
                let text = ended(yaml(&serde_json::json!({"error": sentence}))?);
                Ok(Actual::new(text, wall, Usage { refused: vec![sentence], ..Usage::default() }))
            }
            failure => {
                let usage = Usage { broken: vec![failure.to_string()], ..Usage::default() };
                Ok(Actual::new(String::new(), wall, usage))
            }
        },
        Err(error) => Err(error.to_string()),
    }
}
