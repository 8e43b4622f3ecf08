//! `plumbline wait`

use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_core::Verdict;
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::Seen;
use tokio_util::sync::CancellationToken;

use super::status::{code_of_run, explain, print_end, told};
use crate::args::{ExitCodes, Global, WaitArgs, WaitOutput};
use crate::commands::remote::connect;
use crate::error::{PrintError as _, verdict_code};
use crate::logging;
use crate::ui::{Ended, follow, period, say};

/// Waits for a run in a cluster to end.
pub(crate) fn wait(args: &WaitArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await.map_err(|error| AppError::cluster(&error))?;
        wait_for(&cluster, &args.cluster.namespace, args.wait_output, args.limit(), global).await
    })
}

/// Waits at most `limit` until the run in `namespace` ends, and displays it. Then prints the
/// outcome, and returns the exit code.
pub(crate) async fn wait_for(
    cluster: &Cluster,
    namespace: &str,
    output: WaitOutput,
    limit: Option<Duration>,
    global: &Global,
) -> Result<ExitCode, AppError> {
    match until_over(cluster, namespace, output, limit, global).await? {
        Ok(seen) => {
            print_end(&seen, false)?;
            Ok(code_of_run(&seen, global))
        }
        Err(code) => Ok(code),
    }
}

/// Returns the finished run. If its end was not seen, prints the reason, and returns the exit code.
pub(crate) async fn until_over(
    cluster: &Cluster,
    namespace: &str,
    output: WaitOutput,
    limit: Option<Duration>,
    global: &Global,
) -> Result<Result<Box<Seen>, ExitCode>, AppError> {
    let cancel = CancellationToken::new();
    let following = follow(cluster, namespace, output, cancel.clone());
    let mut following = std::pin::pin!(following);
    let mut interrupted = false;
    let ended = tokio::select! {
        ended = &mut following => ended,
        () = over(limit) => {
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
            let what = if last.is_some() { "the run was lost" } else { "the run cannot be followed" };
            let mut error = AppError::system(what).because(&why);
            if let Some(hint) = why.hint {
                error = error.hint(hint);
            }
            let code = error.print();
            Ok(Err(if compat { ExitCode::FAILURE } else { code }))
        }
        Ok(Ended::Cancelled { .. }) if interrupted => {
            say("interrupted: nothing is waited for any more; the run continues in the cluster");
            Ok(Err(verdict_code(Verdict::Interrupted)))
        }
        Ok(Ended::Cancelled { lost }) => {
            let limit = limit.unwrap_or_default();
            let limit = period(jiff::SignedDuration::try_from(limit).unwrap_or(jiff::SignedDuration::MAX));
            let error = AppError::system(format!("the run in namespace `{namespace}` has not ended within {limit}"));
            let told = match lost {
                true => error.hint("its aggregator has not been heard of lately: look at its pod"),
                false => {
                    error.hint("it goes on: wait again with `plumbline wait`, or look at it with `plumbline status`")
                }
            };
            told.print();
            let verdict = if lost { Verdict::SystemFailure } else { Verdict::Incomplete };
            Ok(Err(failed(verdict)))
        }
        Err(error) => match global.exit_code {
            ExitCodes::Strict => Err(told(&error)),
            ExitCodes::Compat => explain(&error, global).map(Err),
        },
    }
}

async fn over(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Waits for SIGINT or SIGTERM.
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without a handler, a signal ends the process. Nothing is lost, because the run is in the
        // cluster.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
