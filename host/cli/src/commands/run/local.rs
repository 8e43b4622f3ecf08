//! `plumbline run`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use plumbline_aggregator::{Begun, Finished, Provenance, Run, RunError, Settings, Source, WorkDir};
use plumbline_app::limits::Limits;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::{self, ResolvedPlugin};
use plumbline_app::{AppError, judges, local_runs, modules, signing};
use plumbline_bundle::built_in::Place;
use plumbline_core::definition::check_set;
use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_core::{PluginName, RunId, shell_path};
use plumbline_local::{LocalDispatcher, LocalOptions, StartDirectories};
use tokio_util::sync::CancellationToken;

use super::command;
use super::interrupt::cancel_on_signal;
use super::resume::{self, absolute};
use crate::args::{ExitCodes, Global, LocalRunArgs, RunArgs, RunFormat, RunOptions};
use crate::context::context;
use crate::error::verdict_code;
use crate::logging;
use crate::output::outcome::print_outcome;
use crate::ui::{Watch, local_logs, say};

/// Runs plugins on this machine to their verdict.
pub(super) fn run(args: RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = &args;
    let context = context(&options.registry);
    let find = |reference: &String| sources::find(&context, reference, Place::Local);
    let output_format = local.output_format()?;
    let root = new_root(options.output.as_deref())?;
    let mut found = options.plugins.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if !local.command.is_empty() {
        found.push(command::plugin(local, &local_dir(&root))?);
    }
    if found.is_empty() && local.resume.is_none() {
        let built_in = sources::built_in_names(Place::Local);
        return Err(AppError::usage("no plugin is named")
            .hint(format!("name one with `--plugin`: a built-in plugin ({built_in}), a definition or a directory; or give a command: `-- pytest -q`")));
    }
    for plugin in &found {
        for warning in &plugin.warnings {
            say(&format!("warning: `{}`: {warning}", plugin.origin));
        }
    }
    signing::check(&context, &found, &options.requirements())?;
    judges::apply(&context, &(&options.judge).into(), &mut found, &Limits::load(options.limits.file.as_deref())?)?;
    let provenance: BTreeMap<_, _> = signing::provenance(&found).collect();
    let definitions: Vec<_> = found.iter().map(|plugin| plugin.source.definition.as_ref().clone()).collect();
    check_set(&definitions).map_err(|error| AppError::usage("these plugins cannot run together").because(&error))?;
    let work = work_dir(local.resume.as_deref(), root)?;
    let start = start_directories(&work, &found)?;
    let sources: Vec<Source> = found.into_iter().map(|plugin| plugin.source).collect();

    let runtime = runtime()?;
    runtime.block_on(run_local(args, output_format, global, sources, provenance, work, start))
}

async fn run_local(
    args: RunArgs,
    output_format: Option<RunFormat>,
    global: &Global,
    sources: Vec<Source>,
    provenance: BTreeMap<PluginName, Provenance>,
    work: WorkDir,
    start: StartDirectories,
) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = &args;
    let limits = Limits::load(options.limits.file.as_deref())?;
    let root = work.root().to_owned();
    logging::init_run(global, &work.tree().join("meta/run.log"))?;
    let dispatcher = dispatcher(&work, start)?;
    let settings = Settings {
        timeout: options.timeout.unwrap_or_default().limit(),
        limits: limits.modules.clone(),
        receive: limits.uploads.clone(),
        provenance,
        output: output(local, options, &root),
        ..Settings::default()
    };
    let modules = modules::modules(&limits)?;
    let begun = Run::begin(work, sources, settings, &modules, Arc::clone(&dispatcher) as _).await;
    let (run, begun) = begun.map_err(|error| {
        // Nothing has happened yet in a new run: what is in its directory is of no use to anybody.
        let new = local.resume.is_none() && !root.join("run.json").exists();
        if new && let Err(error) = std::fs::remove_dir_all(&root) {
            tracing::warn!("failed to remove `{}`: {error}", root.display());
        }
        run_error(&error, &root)
    })?;
    if options.dry_run {
        return dry_run(&run, &root);
    }
    let mut entry = local_runs::LocalRun {
        run: *run.id(),
        started: run.started(),
        work: root.clone(),
        archive: None,
        status: None,
    };
    remember(&entry);

    let watch = Watch::start(&run, options.wait_output, begun == Begun::Continued, &root);
    let cancel = CancellationToken::new();
    let signals = tokio::spawn(cancel_on_signal(cancel.clone(), Arc::clone(&dispatcher)));
    let state = run.state();
    let finished = run.execute(cancel).await;
    signals.abort();
    watch.stop().await;
    let finished = finished.map_err(|error| {
        let told = run_error(&error, &root);
        // Until somebody goes on with it: what its status file says last is that it goes on.
        entry.status = Some(RunStatus { status: RunPhase::Failed, failure: Some(told.failure()), ..state.status() });
        remember(&entry);
        told
    })?;
    // Whoever asks for it may be in another directory.
    entry.archive = Some(absolute(&finished.archive)?);
    entry.status = Some(finished.status.clone());
    remember(&entry);
    let printed = print_outcome(&finished, output_format, &dispatcher.last_output());
    // After a hangup there is no terminal to print on: the archive has it all.
    if !finished.status.interrupted {
        printed?;
    }
    Ok(exit_code(&finished, global))
}

fn exit_code(finished: &Finished, global: &Global) -> ExitCode {
    match global.exit_code {
        ExitCodes::Strict => verdict_code(finished.verdict),
        ExitCodes::Compat => ExitCode::SUCCESS,
    }
}

/// The path of a new working directory, below the output directory so that the archive need not cross file systems.
fn new_root(output: Option<&Path>) -> Result<PathBuf, AppError> {
    let output = absolute(output.unwrap_or(Path::new(".")))?;
    Ok(output.join(format!(".plumbline-run-{}", RunId::random().short())))
}

/// SourceKind plugins have their directories.
fn local_dir(root: &Path) -> PathBuf {
    root.join("local")
}

/// The new working directory `root`, or that of the run to continue.
fn work_dir(resume: Option<&str>, root: PathBuf) -> Result<WorkDir, AppError> {
    if let Some(wanted) = resume {
        return resume::open(wanted);
    }
    let output = root.parent().unwrap_or(&root);
    std::fs::create_dir_all(output).map_err(|error| {
        AppError::system(format!("failed to create the output directory `{}`", output.display())).because(&error)
    })?;
    WorkDir::open(root)
        .map_err(|error| AppError::system("failed to create the working directory of the run").because(&error))
}

/// SourceKind the archive goes. Without `--output`, a continued run leaves it beside its working directory `root`.
fn output(local: &LocalRunArgs, options: &RunOptions, root: &Path) -> PathBuf {
    let continued = local.resume.as_ref().and_then(|_| root.parent());
    options.output.clone().or(continued.map(Path::to_owned)).unwrap_or_else(|| PathBuf::from("."))
}

/// SourceKind plugins start: for a new run in the current directory, for a continued one where it was started.
fn start_directories(work: &WorkDir, found: &[ResolvedPlugin]) -> Result<StartDirectories, AppError> {
    let recorded = StartDirectories::load(work.root()).map_err(|error| {
        AppError::system(format!("failed to read where the run in `{}` was started", work.root().display()))
            .because(&error)
    })?;
    if let Some(recorded) = recorded {
        return Ok(recorded);
    }
    let current = std::env::current_dir()
        .map_err(|error| AppError::system("failed to find the current directory").because(&error))?;
    let definitions = found
        .iter()
        .filter_map(|plugin| Some((plugin.source.definition.name.clone(), plugin.directory.clone()?)))
        .collect();
    Ok(StartDirectories { current, definitions })
}

fn dispatcher(work: &WorkDir, start: StartDirectories) -> Result<Arc<LocalDispatcher>, AppError> {
    if let Err(error) = start.save(work.root()) {
        tracing::warn!("failed to record where the run was started; continue it from the same directory: {error}");
    }
    let binary = std::env::current_exe().map_err(|error| {
        AppError::system("the path of this program cannot be found; workers are the same program").because(&error)
    })?;
    let options = LocalOptions { work: local_dir(work.root()), logs: local_logs(work.root()), binary, start };
    let dispatcher = LocalDispatcher::new(options)
        .map_err(|error| AppError::system("failed to prepare the directories for plugins").because(&error))?;
    Ok(Arc::new(dispatcher))
}

fn remember(entry: &local_runs::LocalRun) {
    if let Err(error) = local_runs::record(entry) {
        tracing::warn!("the run cannot be remembered for `plumbline status --local`: {error}");
    }
}

fn run_error(error: &RunError, root: &Path) -> AppError {
    if let RunError::Finished { archive, .. } = error {
        let told = AppError::usage("there is nothing to continue").because(error);
        return told.hint(format!("its results: plumbline results {}", shell_path(archive)));
    }
    let usage = matches!(error, RunError::Plan(_) | RunError::NoPlugins | RunError::Definition(_));
    let told = if usage { AppError::usage("the run cannot begin") } else { AppError::system("the run failed") };
    let told = error.hint().into_iter().fold(told.because(error), AppError::hint);
    if root.join("run.json").exists() {
        told.hint(format!(
            "what was received is kept: once the cause is gone, go on with `plumbline run --local --continue {}`",
            shell_path(root)
        ))
    } else {
        told
    }
}

/// Says what would happen; nothing is left behind.
fn dry_run(run: &Run, root: &Path) -> Result<ExitCode, AppError> {
    for plugin in run.plugins() {
        // A run would go on and say it in the tree; who asks before wants to hear it now.
        if let Err(error) = plugin.ready() {
            let told = AppError::usage("the run cannot begin").because(&error);
            // The first error is the one to tell.
            let _ = std::fs::remove_dir_all(root);
            return Err(told);
        }
        let expected: Vec<_> = plugin.expected.iter().map(ToString::to_string).collect();
        say(&format!(
            "would run `{}` ({}), read its results as `{}`, and expect: {}",
            plugin.name(),
            plugin.source.definition.driver,
            plugin.post_processor.info().name.as_deref().unwrap_or("raw"),
            if expected.is_empty() { "nothing".to_owned() } else { expected.join(", ") },
        ));
    }
    std::fs::remove_dir_all(root)
        .map_err(|error| AppError::system(format!("failed to remove `{}`", root.display())).because(&error))?;
    Ok(ExitCode::SUCCESS)
}
