//! `plumbline report`

use std::collections::BTreeMap;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use plumbline_app::AppError;
use plumbline_app::adapter_results::processor;
use plumbline_app::runtime::one_thread;
use plumbline_worker::reporter::{Access, Config, LogLevel, Pace, Processor, run};
use tokio::signal::unix::{SignalKind, signal};

use super::remote;
use crate::args::{Global, Level, ReportArgs};
use crate::logging;

/// Waits next to an adapter, and reports its result.
pub(crate) fn report(args: &ReportArgs, global: &Global) -> Result<ExitCode, AppError> {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let config = Config::from_env(&env).map_err(|error| {
        AppError::usage("the reporter's configuration cannot be used")
            .because(&error)
            .hint("the variables are listed by `plumbline report --help`")
    })?;
    // An explicit option takes precedence over the variable.
    let level = if global.level == Level::Warn { level(config.log_level) } else { global.level };
    logging::init(&Global { level, ..global.clone() });
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let processor: Option<Arc<Processor>> = match &config.result_format {
        Some(format) => Some(processor(format, args.limits.file.as_deref())?),
        None => None,
    };
    // One thread is enough next to every adapter. Blocking calls have their own threads.
    let runtime = one_thread()?;
    let reported = runtime.block_on(Box::pin(async {
        let terminate = told_to_end()?;
        tracing::info!(
            "waiting up to {} s for `{}`, for condition `{}` of job `{}` in namespace `{}`",
            config.max_wait.as_secs(),
            config.results_path.display(),
            config.condition_type,
            config.job,
            config.namespace
        );
        let access = Access::connect(args.connect_options()).await.map_err(|error| remote::explain(&error))?;
        run(&config, Arc::new(access), processor, Pace::default(), terminate)
            .await
            .map_err(|error| remote::explain(&error))
    }));
    // Access to a volume that hangs is not awaited.
    runtime.shutdown_background();
    // A failed adapter is a valid result: the reporter did its work.
    reported.map(|_| ExitCode::SUCCESS)
}

/// Returns a future that completes on SIGTERM or SIGINT. From now on, these signals no longer end
/// this process.
fn told_to_end() -> Result<impl Future<Output = ()>, AppError> {
    let catch = |kind| signal(kind).map_err(|error| AppError::system("signals cannot be caught").because(&error));
    let (mut terminate, mut interrupt) = (catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warn,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
        LogLevel::Trace => Level::Trace,
    }
}
