//! `plumbline wait`, and how commands report the end of a run in a cluster.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::earlier::EarlierRun;
use plumbline_app::report::status::{how, notes, period, sentence};
use plumbline_app::report::text::one_line;
use plumbline_app::report::{run_document, status_table};
use plumbline_app::runtime::{Termination, one_thread, runtime};
use plumbline_core::duration::parse_duration;
use plumbline_core::run_status::RunPhase;
use plumbline_core::{Verdict, text};
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::{Seen, StatusError};
use tokio_util::sync::CancellationToken;

use crate::args::global::{ExitCodes, Global};
use crate::args::name::Name;
use crate::args::shared::{DAY, EXIT_CODES, RunFormat, WaitOutput, limit};
use crate::commands::cluster::{ClusterArgs, connect};
use crate::error::{INTERRUPTED, PrintError as _, fitting, verdict_code};
use crate::output::{print, print_raw};
use crate::ui::{Ended, follow, say};

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Wait at most this long, such as `90m`; `0` for no limit [default: until the run finishes]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Sonobuoy's name of `--timeout`
    #[arg(long, hide = true, conflicts_with = "timeout", value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = DAY, value_parser = parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// Print the outcome in this format
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
}

impl WaitArgs {
    /// How long to wait; `None` for no limit.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.timeout.or(self.wait).and_then(limit)
    }
}

pub(crate) fn wait(args: &WaitArgs, global: &Global) -> Result<ExitCode, AppError> {
    runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await?;
        match until_over(&cluster, &args.cluster.namespace, args.wait_output, EarlierRun::new(), args.limit(), global)
            .await?
        {
            Ok(seen) => {
                print_outcome(cluster.name(), &seen, args.format)?;
                Ok(code_of_run(&seen, global))
            }
            Err(code) => Ok(code),
        }
    })
}

fn print_outcome(cluster: &str, seen: &Seen, format: Option<RunFormat>) -> Result<(), AppError> {
    let Some(format) = format else { return print_end(seen, false) };
    let document = run_document(cluster, seen, &seen.status, Timestamp::now());
    print_raw("failed to print the outcome", |out| format.write(&document, out)).map(drop)
}

/// Returns the finished run. If its end was not seen, prints the reason, and returns the exit code.
/// `earlier` is for estimates of the remaining time.
pub(crate) async fn until_over(
    cluster: &Cluster,
    namespace: &str,
    output: WaitOutput,
    earlier: EarlierRun,
    limit: Option<Duration>,
    global: &Global,
) -> Result<Result<Box<Seen>, ExitCode>, AppError> {
    let cancel = CancellationToken::new();
    let following = follow(cluster, namespace, output, earlier, cancel.clone());
    let mut following = std::pin::pin!(following);
    let mut interrupted = false;
    let ended = tokio::select! {
        ended = &mut following => ended,
        () = tokio::time::sleep(limit.unwrap_or(Duration::MAX)) => {
            cancel.cancel();
            following.await
        }
        () = signalled() => {
            interrupted = true;
            cancel.cancel();
            following.await
        }
    };
    let compat = global.exit_code == ExitCodes::Compat;
    let failed = |verdict: Verdict| if compat { ExitCode::FAILURE } else { verdict_code(verdict) };
    match ended {
        Ok(Ended::Over(seen)) => Ok(Ok(seen)),
        Ok(Ended::Gone { why, last }) => {
            let what = if last.is_some() {
                "the aggregator stopped before the run finished"
            } else {
                "failed to follow the run"
            };
            let code = AppError::system(what).because(&why).hint_if(why.hint.clone()).print();
            Ok(Err(if compat { ExitCode::FAILURE } else { code }))
        }
        Ok(Ended::Cancelled { .. }) if interrupted => {
            say("interrupted: stopped waiting; the run continues in the cluster");
            Ok(Err(verdict_code(Verdict::Interrupted)))
        }
        Ok(Ended::Cancelled { lost }) => {
            let limit = limit.unwrap_or_default();
            let limit = period(jiff::SignedDuration::try_from(limit).unwrap_or(jiff::SignedDuration::MAX));
            let error = AppError::system(format!("the run in namespace `{namespace}` has not finished within {limit}"));
            let error = match lost {
                true => error.hint("its aggregator has sent no heartbeat recently: check its pod"),
                false => error
                    .hint("it continues: wait again with `plumbline wait`, or see its status with `plumbline status`"),
            };
            error.print();
            let verdict = if lost { Verdict::SystemFailure } else { Verdict::Incomplete };
            Ok(Err(failed(verdict)))
        }
        Err(error) => match global.exit_code {
            ExitCodes::Strict => Err(status_error(&error)),
            ExitCodes::Compat => explain(&error, global).map(Err),
        },
    }
}

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn signalled() {
    match Termination::catch() {
        Ok(mut termination) => termination.received().await,
        // Without a handler, a signal ends the process. Nothing is lost, because the run is in the
        // cluster.
        Err(_) => std::future::pending().await,
    }
}

/// Ends this process at the next SIGTERM or SIGINT. Their handlers stay installed once they were used, so
/// otherwise nothing would end a command that only has blocking work left.
pub(crate) fn exit_on_signal() {
    let (ready, is_ready) = mpsc::channel();
    let wait = move || {
        let Ok(runtime) = one_thread() else { return };
        runtime.block_on(async move {
            let Ok(mut termination) = Termination::catch() else { return };
            if ready.send(()).is_ok() {
                termination.received().await;
                std::process::exit(INTERRUPTED.into());
            }
        });
    };
    // A signal that arrives before the thread listens would be lost.
    if thread::Builder::new().spawn(wait).is_err() || is_ready.recv().is_err() {
        tracing::debug!("signals do not end this process");
    }
}

/// Prints the closing sentence and notes. `fetched`: the caller downloads the archive next.
pub(crate) fn closing(seen: &Seen, now: Timestamp, fetched: bool, out: &mut impl Write) -> io::Result<()> {
    let program = Name::current().program();
    writeln!(out, "\n{}", if fetched { how(seen, program) } else { sentence(seen, program) })?;
    for note in notes(seen, now) {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// Prints the summary of a finished run. `fetched`: the caller downloads the archive next.
pub(crate) fn print_end(seen: &Seen, fetched: bool) -> Result<(), AppError> {
    print("failed to print the outcome", |out| {
        write!(out, "{}", status_table::summary(&seen.status))?;
        closing(seen, Timestamp::now(), fetched, out)
    })?;
    Ok(())
}

pub(crate) fn code_of_run(seen: &Seen, global: &Global) -> ExitCode {
    let failed = seen.status.status == RunPhase::Failed;
    match global.exit_code {
        ExitCodes::Compat if failed => ExitCode::FAILURE,
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if seen.is_over() => verdict_code(Verdict::from_run(&seen.status)),
        ExitCodes::Strict if seen.silent_for(Timestamp::now()).is_some() => verdict_code(Verdict::SystemFailure),
        // An unfinished run has no verdict yet. Showing it succeeded.
        ExitCodes::Strict => ExitCode::SUCCESS,
    }
}

/// Sonobuoy's exit code for all errors.
const COMPAT_FAILURE: u8 = 1;

fn status_error(error: &StatusError) -> AppError {
    let app_error = match error {
        // Nothing was found, most likely because of a wrong namespace.
        StatusError::NoNamespace { .. } | StatusError::NoPod { .. } => AppError::usage(error.to_string()),
        StatusError::Cluster(error) => {
            // Without the failed action, which the summary has.
            AppError::system(format!("failed to query the cluster: failed to {}", error.what))
                .cause(error.cause.clone())
        }
        _ => AppError::system(error.to_string()),
    };
    app_error.hint_if(error.hint())
}

/// Reports why the status is missing, and returns the exit code. A run that is about to start is no
/// error.
pub(crate) fn explain(error: &StatusError, global: &Global) -> Result<ExitCode, AppError> {
    let begins = match error {
        StatusError::Pending { waiting, .. } => !waiting.as_ref().is_some_and(|waiting| waiting.is_image_trouble()),
        StatusError::NoAnnotation { .. } => true,
        _ => false,
    };
    let code = if begins {
        let hint = error.hint().and_then(|hint| fitting(&hint));
        let hint = hint.map(|hint| format!("\nhint:  {}", text::one_line(&hint))).unwrap_or_default();
        print("failed to print the status", |out| writeln!(out, "{}{hint}", text::one_line(&error.to_string())))?
    } else {
        status_error(error).print()
    };
    if let StatusError::Pending { events, .. } = error {
        for event in events {
            say(&format!("event: {}", one_line(event)));
        }
    }
    Ok(match global.exit_code {
        ExitCodes::Compat if !begins => ExitCode::from(COMPAT_FAILURE),
        _ => code,
    })
}
