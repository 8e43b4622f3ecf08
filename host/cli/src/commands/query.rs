//! `plumbline query`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use plumbline_app::runtime::runtime;
use plumbline_app::{AppError, Explain as _};
use plumbline_core::{Config, RunId};
use plumbline_kubernetes::query::{Progress, Summary, survey};
use plumbline_kubernetes::{Cluster, ClusterError, names};
use serde_json::json;

use crate::args::shared::OutputArgs;
use crate::commands::cluster::ClusterArgs;
use crate::error::INTERRUPTED;
use crate::output::Out;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// What to record: the configuration of a run (`config.json`) [default: everything but Secrets]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Directory to write to [default: that of the configuration, otherwise a new one whose name is
    /// an ID]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum errors printed one by one. The rest is in `meta/query-time.json`.
const MAX_PRINTED_ERRORS: usize = 20;

/// Queries the cluster, and prints the directory with the result.
pub(crate) fn query(args: &QueryArgs) -> Result<ExitCode, AppError> {
    let config = config(args)?;
    let configured = [&config.query_dir, &config.uuid].into_iter().find(|name| !name.is_empty());
    let dir = args.dir.clone().or_else(|| configured.map(PathBuf::from));
    let dir = dir.unwrap_or_else(|| PathBuf::from(RunId::random().to_string()));
    let runtime = runtime()?;
    let Some(summary) = runtime.block_on(ask(args, &config, &dir))? else {
        say(&format!("interrupted: what was collected so far is in {}", dir.display()));
        return Ok(ExitCode::from(INTERRUPTED));
    };
    print_summary(&summary);
    if summary.files == 0 {
        return Err(AppError::system("failed to collect anything")
            .hint("see the errors above; if your permissions are limited, list what you may read under `Resources` in the configuration"));
    }
    // Keys are never removed or renamed (docs/output.md).
    let data = json!({
        "directory": dir.display().to_string(), "queries": summary.queries, "files": summary.files,
        "seconds": summary.duration.as_secs_f64(),
        "errors": summary.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    let show = |out: &mut Out| writeln!(out, "{}", dir.display());
    args.output.print("failed to print the name of the directory", &data, show)
}

fn config(args: &QueryArgs) -> Result<Config, AppError> {
    let mut config = match &args.config {
        None => Config::default(),
        Some(path) => {
            let unusable = || AppError::usage(format!("invalid configuration `{}`", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| unusable().because(&error))?;
            Config::over_defaults(&text).map_err(|error| unusable().because(&error))?
        }
    };
    // Queries run with the permissions of the user.
    config.plumbline.query_kubelets = true;
    // The configuration's namespace applies unless another one was requested.
    if args.cluster.namespace != names::DEFAULT_NAMESPACE || args.config.is_none() {
        config.namespace.clone_from(&args.cluster.namespace);
    }
    Ok(config)
}

/// Runs the queries. Returns `None` after an interrupt.
async fn ask(args: &QueryArgs, config: &Config, dir: &Path) -> Result<Option<Summary>, AppError> {
    let cluster = Cluster::connect(&args.cluster.connect_options()).await.map_err(unreachable)?;
    // An unreachable cluster is reported once, and not by every query.
    let version = cluster.version().await.map_err(unreachable)?;
    std::fs::create_dir_all(dir).usage_error(format_args!("failed to create directory `{}`", dir.display()))?;
    say(&format!("cluster {} ({}), into {}", cluster.name(), version.git_version, dir.display()));
    let last_report = Mutex::new(Instant::now());
    let observer = |progress: &Progress| {
        let Ok(mut at) = last_report.lock() else { return };
        if at.elapsed() >= PROGRESS_INTERVAL {
            *at = Instant::now();
            let Progress { queries, errors, latest } = progress;
            say(&format!("{queries} queries   {errors} failed   {latest}"));
        }
    };
    tokio::select! {
        summary = survey(&cluster, config, dir, &observer) => Ok(Some(summary)),
        _ = tokio::signal::ctrl_c() => Ok(None),
    }
}

fn unreachable(error: ClusterError) -> AppError {
    cluster_error("failed to query the cluster", &error)
}

pub(crate) fn cluster_error(what: &str, error: &ClusterError) -> AppError {
    AppError::system(what).because(error).hint_if(error.hint.clone())
}

fn print_summary(summary: &Summary) {
    for error in summary.errors.iter().take(MAX_PRINTED_ERRORS) {
        say(&format!("warning: {error}"));
    }
    let more = summary.errors.len().saturating_sub(MAX_PRINTED_ERRORS);
    if more > 0 {
        say(&format!("warning: and {more} more, in meta/query-time.json"));
    }
    let Summary { queries, files, errors, duration } = summary;
    say(&format!("{queries} queries   {} failed   {files} files   {:.1} s", errors.len(), duration.as_secs_f64()));
}
