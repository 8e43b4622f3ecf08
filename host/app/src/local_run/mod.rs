//! Runs on this machine: from references to plugins, or from a command, to the archive.

pub(crate) mod command;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::{
    ArchivedRun, Finished, PlannedPlugin, PluginRecord, Run, RunError, Settings, Source, StartKind, WorkDir,
};
use plumbline_archive::disk::Disk;
use plumbline_bundle::Bundle;
use plumbline_bundle::built_in::Environment;
use plumbline_core::definition::check_set;
use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_core::{RunId, shell_path};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::error::{AppError, Explain as _, SELECT_OTHERS};
use crate::judges;
use crate::local::{LocalDispatcher, LocalOptions, SecretValues, StartDirectories};
use crate::local_runs::{self, LocalRun, absolute, log_dir};
use crate::modules::{self, Limits};
use crate::options::{LocalRunArgs, RunOptions};
use crate::profiles::{self, AppliedProfile};
use crate::reruns::Retries;
use crate::signing;
use crate::sources::{self, ResolvedPlugin};
use crate::telemetry::{self, Reporting};

pub use command::STDOUT_FILE;

/// A run whose plugins are resolved and whose working directory is open.
pub struct PreparedRun {
    work: WorkDir,
    start: StartDirectories,
    sources: Vec<Source>,
    settings: Settings,
    limits: Limits,
    resumes: bool,
    metrics: Option<u16>,
    secrets: SecretValues,
}

/// A run that has started.
pub struct StartedRun {
    /// The run itself, with its plan and its state.
    pub run: Run,
    /// The dispatcher, whose processes outlive this one unless they are killed.
    pub dispatcher: Arc<LocalDispatcher>,
    /// The record of the run, with its working directory.
    pub record: LocalRun,
    telemetry: Reporting,
    /// Whether it continues an interrupted run.
    pub continued: bool,
}

/// A run that has finished.
pub struct FinishedRun {
    /// The outcome.
    pub finished: Finished,
    /// The last output of plugins, by result.
    pub last_output: LastOutput,
}

/// The last output of plugins, by result.
pub type LastOutput = std::collections::BTreeMap<plumbline_core::ResultKey, String>;

/// Resolves the plugins of a run, and opens its working directory.
pub fn prepare(context: &Context, options: &RunOptions, local: &LocalRunArgs) -> Result<PreparedRun, AppError> {
    let root = new_root(options.archive_dir())?;
    let mut found = sources::find_all(context, &options.plugins, &[], Environment::Local)?;
    let AppliedProfile { secrets, retries } = profiles::apply(context, options.profile.as_ref(), &mut found, None)?;
    if !local.command.is_empty() {
        found.push(command::plugin(local, &local_dir(&root))?);
    }
    if found.is_empty() && local.resume.is_none() {
        let built_in = sources::built_in_names(Environment::Local);
        return Err(AppError::usage("no plugin selected")
            .hint(format!("choose one with `--plugin`: a built-in plugin ({built_in}), a definition or a directory; or pass a command: `-- pytest -q`")));
    }
    signing::check(context, &found, &options.requirements)?;
    let limits = options.limits.load()?;
    judges::apply(context, &options.judge, &mut found, options.profile.is_some(), &limits)?;
    if let Some(retries) = retries {
        add_retries(&retries, &mut found)?;
    }
    let provenance = signing::provenance(&found).collect();
    let definitions: Vec<_> = found.iter().map(|plugin| plugin.source.definition.as_ref().clone()).collect();
    check_set(&definitions).usage_error("invalid set of plugins").hint(SELECT_OTHERS)?;
    let telemetry = options.cluster_run.telemetry.local(context)?;
    if let Some(output) = root.parent() {
        Disk::default()
            .create_directories(output)
            .system_error(format_args!("failed to create the output directory `{}`", output.display()))?;
    }
    let work = open_work_dir(local.resume.as_deref(), root)?;
    check_bundles(&work)?;
    let start = start_directories(&work, &found)?;
    let root = work.root().to_owned();
    let on_archived = move |archived: &ArchivedRun<'_>| {
        record_archive(archived, &root);
        Ok(())
    };
    let settings = Settings {
        telemetry,
        timeout: options.plugin_timeout(),
        limits: limits.modules.clone(),
        receive: limits.uploads.clone(),
        provenance,
        output: output_dir(options, local, work.root()),
        on_archived: Some(Arc::new(on_archived)),
        ..Settings::default()
    };
    Ok(PreparedRun {
        start,
        settings,
        sources: found.into_iter().map(|plugin| plugin.source).collect(),
        limits,
        resumes: local.resume.is_some(),
        metrics: options.cluster_run.telemetry.metrics,
        secrets,
        work,
    })
}

impl PreparedRun {
    /// The file for the log of the run.
    pub fn log_file(&self) -> PathBuf {
        self.work.tree().join("meta/run.log")
    }

    /// Starts the run: plans the plugins, and opens the server for results.
    pub async fn start(self) -> Result<StartedRun, AppError> {
        let Self { work, start, sources, settings, limits, resumes, metrics, secrets } = self;
        let root = work.root().to_owned();
        // The directory of a new run has nothing that anybody needs.
        let clean = || {
            let new = !resumes && !root.join("run.json").exists();
            if new && let Err(error) = WorkDir::remove_at(&root) {
                tracing::warn!("{error}");
            }
        };
        let bound = match metrics {
            Some(port) => Some(telemetry::bind((Ipv4Addr::LOCALHOST, port).into()).await.inspect_err(|_| clean())?),
            None => None,
        };
        let dispatcher = dispatcher(&work, start, secrets)?;
        let modules = modules::modules(&limits)?;
        let begun = Run::begin(work, sources, settings, &modules, Arc::clone(&dispatcher) as _).await;
        let (run, begun) = begun.map_err(|error| {
            clean();
            if let RunError::Finished { archive, status } = &error {
                finish_record(&root, archive, status);
            }
            run_error(&error, &root)
        })?;
        let telemetry = Reporting::start(&run, bound, Vec::new);
        let record = LocalRun { run: *run.id(), started: run.started(), work: root, archive: None, status: None };
        Ok(StartedRun { run, dispatcher, record, telemetry, continued: begun == StartKind::Continued })
    }
}

impl StartedRun {
    /// The URL of the metrics, if they are served.
    pub fn metrics_url(&self) -> Option<String> {
        self.telemetry.url()
    }

    /// Removes the run instead of executing it. Calls `ready` for each plugin once its modules are
    /// compiled.
    pub fn discard(self, mut ready: impl FnMut(&PlannedPlugin)) -> Result<(), AppError> {
        let root = &self.record.work;
        for plugin in self.run.plugins() {
            // A run would continue, and have the error in its tree.
            if let Err(error) = plugin.ready() {
                let failed = AppError::usage("failed to start the run").because(&error);
                // This error matters more than one of the removal.
                let _ = WorkDir::remove_at(root);
                return Err(failed);
            }
            ready(plugin);
        }
        WorkDir::remove_at(root).system_error("failed to end the dry run")
    }

    /// Executes the run until it has finished, or until `cancel` is cancelled and its plugins have
    /// ended.
    pub async fn execute(self, cancel: CancellationToken) -> Result<FinishedRun, AppError> {
        let Self { run, dispatcher, mut record, telemetry, .. } = self;
        record_run(&record);
        let state = run.state();
        let finished = run.execute(cancel).await;
        drop(telemetry.finish().await);
        let finished = finished.map_err(|error| {
            let failed = run_error(&error, &record.work);
            // The status in the working directory says that the run is in progress.
            let failure = Some(failed.failure());
            record.status = Some(RunStatus { status: RunPhase::Failed, failure, ..state.status() });
            record_run(&record);
            failed
        })?;
        Ok(FinishedRun { finished, last_output: dispatcher.last_output() })
    }
}

fn add_retries(retries: &Retries, found: &mut Vec<ResolvedPlugin>) -> Result<(), AppError> {
    let suite = found.iter_mut().find(|plugin| plugin.source.definition.name == retries.how.plugin);
    let Some(suite) = suite else { return Ok(()) };
    let added = retries.of(&mut suite.source.definition)?;
    let suite = suite.clone();
    found.extend(
        added.into_iter().map(|definition| ResolvedPlugin {
            source: Source { definition, ..suite.source.clone() },
            ..suite.clone()
        }),
    );
    Ok(())
}

/// The path of a new working directory, in the output directory, so that the archive can be
/// renamed.
fn new_root(output: Option<&Path>) -> Result<PathBuf, AppError> {
    let output = absolute(output.unwrap_or(Path::new(".")))?;
    Ok(output.join(format!(".plumbline-run-{}", RunId::random().short())))
}

fn local_dir(root: &Path) -> PathBuf {
    root.join("local")
}

fn open_work_dir(resume: Option<&str>, root: PathBuf) -> Result<WorkDir, AppError> {
    if let Some(wanted) = resume {
        return local_runs::open_interrupted(wanted);
    }
    WorkDir::open(root).system_error("failed to create the working directory of the run")
}

/// Checks that the bundles of a run to continue are those with which it started. A new run has no
/// record yet.
fn check_bundles(work: &WorkDir) -> Result<(), AppError> {
    let wrong = || AppError::usage(format!("failed to continue the run in `{}`", shell_path(work.root())));
    let record = work.record().map_err(|error| wrong().because(&error))?;
    for PluginRecord { bundle, provenance, .. } in record.into_iter().flat_map(|record| record.plugins) {
        let Some((dir, digest)) = bundle.zip(provenance.and_then(|provenance| provenance.bundle)) else { continue };
        let found = Bundle::open(&dir).map_err(|error| wrong().because(&error))?;
        if found.digest().to_string() != digest {
            return Err(wrong()
                .cause(format!("bundle `{}` was changed since the run started", dir.display()))
                .hint("restore its files, or start a new run"));
        }
    }
    Ok(())
}

/// The directory of the archive. By default, that of a continued run is next to its working
/// directory `root`.
fn output_dir(options: &RunOptions, local: &LocalRunArgs, root: &Path) -> PathBuf {
    let continued = local.resume.as_ref().and_then(|_| root.parent());
    options.archive_dir().or(continued).unwrap_or(Path::new(".")).to_owned()
}

/// The directories in which plugins start: for a new run the current one, for a continued run those
/// of its start.
fn start_directories(work: &WorkDir, found: &[ResolvedPlugin]) -> Result<StartDirectories, AppError> {
    let recorded = StartDirectories::load(work.root())
        .system_error(format_args!("failed to read where the run in `{}` was started", work.root().display()))?;
    if let Some(recorded) = recorded {
        return Ok(recorded);
    }
    let current = std::env::current_dir().system_error("failed to find the current directory")?;
    let definitions = found
        .iter()
        .filter_map(|plugin| Some((plugin.source.definition.name.clone(), plugin.directory.clone()?)))
        .collect();
    Ok(StartDirectories { current, definitions })
}

fn dispatcher(
    work: &WorkDir,
    start: StartDirectories,
    secrets: SecretValues,
) -> Result<Arc<LocalDispatcher>, AppError> {
    if let Err(error) = start.save(work.root()) {
        tracing::warn!("failed to record where the run was started; continue it from the same directory: {error}");
    }
    let binary =
        std::env::current_exe().system_error("failed to find the path of this program, which also runs the workers")?;
    let options = LocalOptions { work: local_dir(work.root()), logs: log_dir(work.root()), binary, start, secrets };
    let dispatcher = LocalDispatcher::new(options).system_error("failed to prepare the directories for plugins")?;
    Ok(Arc::new(dispatcher))
}

/// Records that the run in `root` has its archive, and removes the directory. The process that made
/// the archive was killed before it could do both.
fn finish_record(root: &Path, archive: &Path, status: &RunStatus) {
    let Ok(archive) = absolute(archive) else { return };
    if !archive.is_file() {
        return;
    }
    let runs = local_runs::list().unwrap_or_default();
    if let Some(run) = runs.into_iter().find(|run| run.work == root) {
        record_run(&LocalRun { archive: Some(archive), status: Some(status.clone()), ..run });
    }
    if let Err(error) = WorkDir::remove_at(root) {
        tracing::warn!("{error}");
    }
}

fn record_archive(archived: &ArchivedRun<'_>, root: &Path) {
    // An absolute path, for commands in other directories.
    let archive = std::path::absolute(archived.archive).unwrap_or_else(|_| archived.archive.to_owned());
    record_run(&LocalRun {
        run: *archived.run,
        started: archived.started,
        work: root.to_owned(),
        archive: Some(archive),
        status: Some(archived.status.clone()),
    });
}

fn record_run(run: &LocalRun) {
    if let Err(error) = local_runs::record(run) {
        tracing::warn!("failed to record the run for `plumbline status --local`: {error}");
    }
}

fn run_error(error: &RunError, root: &Path) -> AppError {
    if let RunError::Finished { archive, .. } = error {
        let failed = AppError::usage("nothing to continue").because(error);
        return failed.hint(format!("see its results with `plumbline results {}`", shell_path(archive)));
    }
    let usage = matches!(error, RunError::Plan(_) | RunError::NoPlugins | RunError::Definition(_));
    let failed = if usage { AppError::usage("failed to start the run") } else { AppError::system("the run failed") };
    let failed = failed.because(error).hint_if(error.hint());
    if root.join("run.json").exists() {
        failed.hint(format!(
            "received results are kept: fix the cause, then continue with `plumbline run --local --continue {}`",
            shell_path(root)
        ))
    } else {
        failed
    }
}
