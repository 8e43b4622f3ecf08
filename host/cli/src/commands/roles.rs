//! Commands that the program calls in a cluster or for itself: the aggregator, the reporter, the
//! compiler of modules, and the process of a check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use plumbline_app::aggregator::{AggregatorEnd, AggregatorOptions, aggregate};
use plumbline_app::modules::LimitsFile;
use plumbline_app::process::processor;
use plumbline_app::runtime::{Termination, conceal, one_thread, runtime};
use plumbline_app::{AppError, Explain as _};
use plumbline_kubernetes::ConnectOptions;
use plumbline_worker::reporter::{Access, Config, Pace, Processor, run};

use crate::args::global::{Global, Level};
use crate::args::shared::{RegistryArgs, context};
use crate::error::{SYSTEM, verdict_code};
use crate::logging;

#[derive(Debug, clap::Args)]
pub(crate) struct CompileModuleArgs {
    /// Memory limit in bytes
    pub(crate) memory: u64,
    /// Limit on processor time in seconds
    pub(crate) cpu_seconds: u64,
    /// Compile for every machine of this architecture and operating system
    #[arg(long)]
    pub(crate) portable: bool,
}

const VARIABLES: &str = "\
Environment:
  JOB_NAME                 Job to update; required
  JOB_NAMESPACE            Namespace of the Job; required
  POD_NAME                 Pod of the adapter; required
  RESULTS_PATH             Absolute path of the result file [default: /results/adapter-result.json]
  POLL_INTERVAL_SECONDS    Interval between checks for the file [default: 2]
  MAX_WAIT_TIME_SECONDS    Time limit for the result [default: 300]
  CONDITION_TYPE           Type of the condition [default: Available]
  LOG_LEVEL                trace, debug, info, warn or error [default: info]
  ADAPTER_CONTAINER_NAME   Container of the adapter [default: the first other container]
  REPORTER_CONTAINER_NAME  Container of the reporter [default: detected]
  DETAILS_TO               none, annotation, configmap or event [default: none]
  RESULT_FORMAT            json, junit, gojson, ..., or the path of a module [default: json]
  RESULT_SETTLE_SECONDS    Time without a change before the reporter reads a file while the adapter runs
                           [default: 5, or 30 with RESULT_FORMAT]

Exit codes:
  0  the outcome was reported, whether success or failure
  2  a variable is missing or invalid
  4  the outcome could not be reported";

/// Report the result of a Job's container (the adapter) as a condition in the Job's status. Runs in
/// the Job's pod and waits for the result file or the end of the container.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = VARIABLES)]
pub(crate) struct ReportArgs {
    /// Kubeconfig file [default: the service account of this pod, $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
}

/// How long an aggregator waits at its end for threads that still use a disk.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// The exit code after SIGTERM: 128 and the number of the signal, as shells report it.
const TERMINATED: u8 = 143;

pub(crate) fn aggregator(options: &AggregatorOptions, global: &Global) -> Result<ExitCode, AppError> {
    // Users need the log to find out what went wrong, so it has more than warnings by default.
    let global = global.logging_at(Level::Info);
    let start_log = |path: &Path| logging::init_run(&global, path);
    let context = context(&RegistryArgs::default());
    let runtime = runtime()?;
    let end = runtime.block_on(Box::pin(aggregate(&context, options, &start_log)));
    // A thread that waits for a disk that hangs may never end.
    runtime.shutdown_timeout(LAST_WRITES);
    Ok(match end? {
        AggregatorEnd::Finished => ExitCode::SUCCESS,
        AggregatorEnd::Judged(verdict) => verdict_code(verdict),
        AggregatorEnd::Failed => ExitCode::from(SYSTEM),
        AggregatorEnd::Left => ExitCode::from(TERMINATED),
    })
}

pub(crate) fn report(args: &ReportArgs, global: &Global) -> Result<ExitCode, AppError> {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let config = Config::from_env(&env)
        .usage_error("invalid configuration of the reporter")
        .hint("`plumbline report --help` lists the variables")?;
    // An explicit option takes precedence over the variable.
    logging::init(&global.logging_at(level(config.log_level)));
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let processor: Option<Arc<Processor>> = match &config.result_format {
        Some(format) => Some(processor(format, &args.limits)?),
        None => None,
    };
    // One thread is enough next to every adapter. Blocking calls have their own threads.
    let runtime = one_thread()?;
    let reported = runtime.block_on(Box::pin(async {
        let mut termination = Termination::catch().system_error("failed to handle signals")?;
        let terminate = async move { termination.received().await };
        tracing::info!(
            "waiting up to {} s for `{}`, for condition `{}` of job `{}` in namespace `{}`",
            config.max_wait.as_secs(),
            config.results_path.display(),
            config.condition_type,
            config.job,
            config.namespace
        );
        let cluster = ConnectOptions { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
        let access = Access::connect(cluster).await?;
        run(&config, Arc::new(access), processor, Pace::default(), terminate).await.map_err(AppError::from)
    }));
    // Access to a volume that hangs is not awaited.
    runtime.shutdown_background();
    // A failed adapter is a valid result: the reporter did its work.
    reported.map(|_| ExitCode::SUCCESS)
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG => Level::Debug,
        _ => Level::Trace,
    }
}

pub(crate) fn compile_module(args: &CompileModuleArgs) -> Result<ExitCode, AppError> {
    let code = plumbline_sandbox::compile_stdin(args.memory, args.cpu_seconds, args.portable)
        .system_error("failed to compile the module")?;
    Ok(u8::try_from(code).unwrap_or(u8::MAX).into())
}

pub(crate) fn run_check(global: &Global) -> Result<ExitCode, AppError> {
    // The log is part of the archive, and has what the check logs.
    logging::init(&global.logging_at(Level::Info));
    // A plugin with `hostPID` would otherwise find the token of this pod below `/proc/PID/root`.
    conceal();
    plumbline_app::run_check::run_check()?;
    Ok(ExitCode::SUCCESS)
}
