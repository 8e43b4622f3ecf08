//! Runs a check in the place of a plugin's container or process.
//!
//! ```text
//! PLUMBLINE_CHECK ─▶ component ─▶ rights ⊆ grants ─▶ code ─▶ Module::run_check
//!                                                              │ items ─▶ RESULTS_DIR/items.jsonl ─▶ done
//!                                                              └ progress ─▶ relay of the worker
//! ```
//!
//! The code was carried here with the component, is in the cache, or is compiled by a child process.
//!
//! The check runs on a thread of its own. The calling thread watches for signals and the deadline,
//! because a check may block in a read that never ends. Whatever ends the check is its last item.

mod execute;
mod here;
mod network;
mod objects;
mod output;
mod progress;

use std::env::VarError;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plumbline_core::{CHECK_VARIABLE, CheckRun};
use plumbline_sandbox::CheckFailure;
use tokio::sync::{oneshot, watch};

pub use self::here::{CheckOptions, run_here};
use self::network::Listeners;
use self::output::Output;
use crate::error::AppError;
use crate::runtime::{Termination, one_thread};

/// Runs the check that the environment describes, and writes its items and the done file into the
/// results directory. A check that fails has an item that says why.
///
/// # Errors
///
/// Returns an error if the environment is invalid, or if the results cannot be written.
pub fn run_check() -> Result<(), AppError> {
    let check = read_variable()?;
    let results = results_dir();
    let output = Output::create(&results, &check.plugin).map_err(|error| unwritten(&results, &error))?;
    one_thread()?.block_on(supervise(check, Arc::new(output))).map_err(|error| unwritten(&results, &error))
}

fn unwritten(results: &std::path::Path, error: &std::io::Error) -> AppError {
    AppError::system(format!("failed to write the results of the check into `{}`", results.display())).because(error)
}

fn read_variable() -> Result<CheckRun, AppError> {
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("invalid variable `{CHECK_VARIABLE}`"))
            .because(error)
            .hint("start checks with `plumbline run`, which sets it")
    };
    let text = std::env::var(CHECK_VARIABLE).map_err(|error: VarError| wrong(&error))?;
    let check: CheckRun = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    check.grants.check().map_err(|error| wrong(&error))?;
    Ok(check)
}

fn results_dir() -> PathBuf {
    let named = ["SONOBUOY_RESULTS_DIR", "RESULTS_DIR"].into_iter().find_map(std::env::var_os);
    named.map_or_else(|| PathBuf::from(plumbline_worker::DEFAULT_RESULTS_DIR), PathBuf::from)
}

async fn supervise(check: CheckRun, output: Arc<Output>) -> std::io::Result<()> {
    // Installed first, so that no signal is lost.
    let mut termination = Termination::catch()?;
    let (stay, allow_empty) = (check.stay, check.allow_empty);
    // Open as long as this process lives, for the checks of other nodes.
    let listeners = Listeners::open(&check.grants.listen).await;
    let (failure, was_terminated) = match &listeners {
        Ok(_) => run_to_end(check, &output, &mut termination).await?,
        Err(failure) => (Some(failure.clone()), false),
    };
    output.finish(failure, allow_empty)?;
    if stay && !was_terminated {
        termination.received().await;
    }
    Ok(())
}

/// Runs the check until it ends, a signal arrives, or its time is over. Returns its failure, and whether
/// it was a signal.
async fn run_to_end(
    check: CheckRun,
    output: &Arc<Output>,
    termination: &mut Termination,
) -> std::io::Result<(Option<CheckFailure>, bool)> {
    let (report, mut reported) = watch::channel(None);
    let (done, ended) = oneshot::channel();
    // Loading the check is part of its time, because the plugin's timeout does not wait for it. The
    // sandbox ends a check earlier, unless it blocks outside of its own code.
    let seconds = check.limits.wall_seconds;
    let (of_check, progress) = (Arc::clone(output), progress::Relay::from_environment());
    std::thread::Builder::new().name("check".to_owned()).spawn(move || {
        // Nobody waits for a check that ended already.
        let _ = done.send(execute::execute(&check, &of_check, report).err());
    })?;
    let failed = |why: &str| Some(CheckFailure::of(why));
    let end = tokio::select! {
        failure = ended => (failure.unwrap_or_else(|_| failed("the thread of the check panicked")), false),
        () = termination.received() => (failed("the check was interrupted before it was complete"), true),
        () = tokio::time::sleep(Duration::from_secs(seconds)) => {
            (failed(&format!("the check was not complete after {seconds} s, its time limit")), false)
        }
        never = progress.forward(reported.clone()) => match never {},
    };
    progress.last(&mut reported).await;
    Ok(end)
}
