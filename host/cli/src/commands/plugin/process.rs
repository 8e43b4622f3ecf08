//! `plumbline plugin process`

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use plumbline_aggregator::{LimitPolicy, Modules, PlannedPlugin, Source, TREE_FILE, post_process, prepare};
use plumbline_app::limits::Limits;
use plumbline_app::report::print_json;
use plumbline_app::sources::{self, ResolvedPlugin, SourceKind};
use plumbline_app::trees::read_tree;
use plumbline_app::{AppError, modules};
use plumbline_core::definition::Definition;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{Driver, GLOBAL, Verdict};
use serde_json::json;

use crate::args::{ExitCodes, Global, ProcessArgs, RunFormat};
use crate::error::verdict_code;
use crate::logging;
use crate::ui::say;

/// Post-processes a directory and prints the tree. The directory is not changed.
pub(crate) fn process(args: &ProcessArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let found = definition(args)?;
    for warning in &found.warnings {
        say(&format!("warning: `{}`: {warning}", found.origin));
    }
    if !args.dir.join("results").is_dir() && !args.dir.join("errors").is_dir() {
        return Err(AppError::usage(format!(
            "directory `{}` has neither `results` nor `errors` below it",
            args.dir.display()
        ))
        .hint("results are laid out as in an archive: `results/global/FILE`, or `results/NODE/FILE` per node"));
    }
    let limits = Limits::load(args.limits.file.as_deref())?;
    let modules = modules::modules(&limits)?;
    let plugin = plan(&modules, &limits.modules, found.source, args)?;
    for warning in plugin.warnings() {
        say(&format!("warning: {warning}"));
    }
    let scratch = tempfile::tempdir()
        .map_err(|error| AppError::system("failed to create a directory for temporary files").because(&error))?;
    let tree = scratch.path().join(TREE_FILE);
    let outcome =
        post_process(&plugin.subject(), &args.dir, &plugin.post_processor, scratch.path(), &tree).map_err(|error| {
            AppError::system(format!("failed to post-process `{}`", args.dir.display())).because(&error)
        })?;
    print(&tree, args.format).map_err(|error| AppError::printing("failed to print the result tree", &error))?;
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict => {
            let entry = PluginStatus {
                plugin: plugin.name().to_string(),
                node: GLOBAL.to_owned(),
                status: EntryStatus::Complete,
                result_status: Some(outcome.total.status),
                result_counts: Some(outcome.total.counts),
                ..PluginStatus::default()
            };
            let status = RunStatus { plugins: Some(vec![entry]), status: RunPhase::Complete, ..RunStatus::default() };
            verdict_code(Verdict::from_run(&status))
        }
    })
}

/// The definition that was named, or the least one that the other options describe; they win over it.
fn definition(args: &ProcessArgs) -> Result<ResolvedPlugin, AppError> {
    let mut found = match &args.definition {
        Some(path) => sources::from_file(path)?,
        None => {
            let name = args.name.as_deref().unwrap_or_default();
            let least = json!({
                "sonobuoy-config": {"plugin-name": name, "driver": args.driver.unwrap_or(Driver::Job)},
                "spec": {},
            });
            let parsed = Definition::from_json(least)
                .map_err(|error| AppError::usage("these options describe no plugin").because(&error))?;
            let source = Source { definition: Arc::new(parsed.definition), bundle: None };
            ResolvedPlugin {
                source,
                directory: None,
                warnings: parsed.warnings,
                origin: name.to_owned(),
                digest: None,
                kind: SourceKind::Named,
                signatures: None,
                pinned: None,
            }
        }
    };
    let mut definition = (*found.source.definition).clone();
    if let Some(name) = &args.name {
        definition.name = name.parse().map_err(|error| AppError::usage("`--name` is not valid").because(&error))?;
    }
    if let Some(driver) = args.driver {
        definition.driver = driver;
    }
    if let Some(format) = &args.result_format {
        definition.result_format = Some(format.clone());
    }
    if !args.result_files.is_empty() {
        definition.result_files.clone_from(&args.result_files);
    }
    found.source.definition = Arc::new(definition);
    Ok(found)
}

fn plan(
    modules: &Modules,
    limits: &LimitPolicy,
    source: Source,
    args: &ProcessArgs,
) -> Result<PlannedPlugin, AppError> {
    let mut plugin = prepare(modules, limits, source).map_err(|error| {
        let told = AppError::usage("the plugin cannot be used").because(&error);
        error.hint().into_iter().fold(told, AppError::hint)
    })?;
    if let Some(path) = &args.module {
        plugin.post_processor = modules
            .post_processor_in(path)
            .map_err(|error| AppError::usage("what `--module` names cannot be used").because(&error))?;
    }
    plugin.ready().map_err(|error| AppError::usage("the plugin cannot be used").because(&error))?;
    Ok(plugin)
}

fn print(tree: &Path, format: RunFormat) -> io::Result<()> {
    let file = File::open(tree)?;
    let mut out = io::stdout().lock();
    match format {
        RunFormat::Yaml => io::copy(&mut BufReader::new(file), &mut out).map(|_| ()),
        RunFormat::Json => print_json(&read_tree(file)?, &mut out),
    }
}
