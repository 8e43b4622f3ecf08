//! `plumbline wait`

use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::AppError;
use plumbline_app::report::status::period;
use plumbline_app::runtime::{Termination, runtime};
use plumbline_core::Verdict;
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::Seen;
use tokio_util::sync::CancellationToken;

use crate::args::shared::{Time, WaitOutput};
use crate::args::{ExitCodes, Global};
use crate::commands::cluster::{ClusterArgs, connect};
use crate::commands::status::{code_of_run, explain, print_end, told};
use crate::error::{PrintError as _, verdict_code};
use crate::ui::{Ended, follow, say};

/// Minutes that `--wait` without a number means: a day.
const DAY: &str = "1440";

#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// How long to wait: seconds, or a duration such as `90m` [default: until the run finishes]
    #[arg(long, value_name = "TIME", conflicts_with = "wait")]
    pub(crate) timeout: Option<Time>,
    /// How long to wait, in minutes, as Sonobuoy has it
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, require_equals = true, default_missing_value = DAY)]
    pub(crate) wait: Option<u32>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
}

impl WaitArgs {
    /// How long to wait; `None` for no limit.
    pub(crate) fn limit(&self) -> Option<Duration> {
        let minutes = self.wait.filter(|&minutes| minutes > 0);
        let minutes = minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
        self.timeout.and_then(Time::limit).or(minutes)
    }
}

pub(crate) fn wait(args: &WaitArgs, global: &Global) -> Result<ExitCode, AppError> {
    runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await?;
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
            let code = AppError::system(what).because(&why).hint_if(why.hint.clone()).print();
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

async fn signalled() {
    match Termination::catch() {
        Ok(mut termination) => termination.received().await,
        // Without a handler, a signal ends the process. Nothing is lost, because the run is in the
        // cluster.
        Err(_) => std::future::pending().await,
    }
}
