//! A plugin with a configurable outcome, for tests of clusters and of Plumbline itself.
//!
//! [`run`] delivers results, [`attack()`] attacks the run, and [`fake_suite`] stands in for the image
//! of the conformance suite. Each returns its exit code.

mod attack;
mod options;
mod progress;
mod results;
mod suite;

use std::future::pending;
use std::hint::black_box;

use tokio::signal::unix::{SignalKind, signal};

use crate::context::Context;
use crate::error::AppError;
use crate::runtime::one_thread;

pub use options::{AdapterResult, AttackOptions, Ending, FakeSuiteOptions, ResultFormat, TestPluginOptions};
pub use suite::fake_suite;

/// The exit code after SIGTERM: 128 and the number of the signal, as shells report it.
const TERMINATED: u8 = 143;
/// The default exit code of a crash.
const CRASHED: u8 = 1;
/// The memory that is allocated at a time.
const PIECE: usize = 8 << 20;
/// The memory after which it gives up: without a limit, the test fails instead of the machine.
const MOST: usize = 2 << 30;

/// Works, writes results, and ends as the options say.
///
/// # Errors
/// The results cannot be written.
pub fn run(context: &Context, options: &TestPluginOptions) -> Result<u8, AppError> {
    let (work, exit) = (deliver(context, options), options.exit.unwrap_or(0));
    until_terminated(context, work, options.stay, exit)
}

/// Attacks the run and the cluster, and writes a report.
///
/// # Errors
/// The report cannot be written.
pub fn attack(context: &Context, options: &AttackOptions) -> Result<u8, AppError> {
    let work = async { attack::attack(context, options).await.map(|()| Done::Written) };
    until_terminated(context, work, options.stay, 0)
}

/// Whether the plugin ends after its work.
enum Done {
    /// It ends with this exit code.
    Exit(u8),
    /// It has written its results.
    Written,
}

/// Does the work, and stays if `stay` is set. SIGTERM ends both.
fn until_terminated(
    context: &Context,
    work: impl Future<Output = Result<Done, AppError>>,
    stay: bool,
    exit: u8,
) -> Result<u8, AppError> {
    let runtime = one_thread()?;
    let code = runtime.block_on(async {
        // The first process of a container only gets signals that it handles.
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| AppError::system("signals cannot be caught").because(&error))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(TERMINATED),
            done = work => match done? {
                Done::Exit(code) => return Ok(code),
                Done::Written => {}
            },
        }
        if stay {
            terminate.recv().await;
            context.reporter.progress("test-plugin: asked to stop");
        }
        Ok(exit)
    });
    // Does not wait for files that are still being written.
    runtime.shutdown_background();
    code
}

async fn deliver(context: &Context, options: &TestPluginOptions) -> Result<Done, AppError> {
    let say = |text: &str| context.reporter.progress(text);
    progress::work(context, options).await;
    match options.outcome {
        Ending::Pass | Ending::Fail => {}
        Ending::Crash => {
            let owned = options.clone();
            blocking(move || results::half(&owned)).await?;
            say("test-plugin: crashes, as it was told to");
            return Ok(Done::Exit(options.exit.unwrap_or(CRASHED)));
        }
        Ending::Hang => {
            say("test-plugin: hangs, as it was told to");
            pending::<()>().await;
        }
        Ending::None => {
            say("test-plugin: ends without a result, as it was told to");
            return Ok(Done::Exit(options.exit.unwrap_or(0)));
        }
        Ending::Oom => {
            say("test-plugin: takes all memory, as it was told to");
            return blocking(|| Err(take_all_memory())).await;
        }
    }
    let owned = options.clone();
    if let Some(what) = options.adapter_result {
        blocking(move || results::write_adapter_result(what, &owned.results_path)).await?;
        say(&format!("test-plugin: `{}` is written", options.results_path.display()));
        return Ok(Done::Written);
    }
    let sent = blocking(move || {
        let sent = results::results(&owned)?;
        if !owned.no_done {
            results::done(&owned.results_dir, &sent)?;
        }
        Ok(sent)
    });
    let sent = sent.await?;
    let done = if options.no_done { "written, and not said to be done" } else { "done" };
    say(&format!("test-plugin: `{}` is {done}", sent.display()));
    Ok(Done::Written)
}

/// Runs blocking work on a thread of its own, so that signals are handled.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(AppError::system("the test plugin broke").because(&error)),
    }
}

/// Allocates memory and writes to it until this process is killed. Returns only if it is not
/// killed.
fn take_all_memory() -> AppError {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while taken.len() * PIECE < MOST {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            return AppError::system(format!("no memory is left after {} MiB", (taken.len() * PIECE) >> 20));
        }
        // The kernel only provides memory that is written to.
        piece.resize(PIECE, 1);
        taken.push(black_box(piece));
    }
    AppError::system(format!("took {} MiB, and nothing ended it", MOST >> 20))
        .hint("set `resources.limits.memory` in the plugin's `spec`")
}
