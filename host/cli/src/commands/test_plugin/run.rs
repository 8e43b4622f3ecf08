//! What it does, in order.

use std::future::pending;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::one_thread;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{adapter, attack, deliver, e2e, memory, progress};
use crate::args::{AttackArgs, Ending, TestPluginArgs, TestPluginCommand};
use crate::ui::say;

/// The code of a shell for what SIGTERM ended: 128 and its number.
const TERMINATED: u8 = 143;
/// The code of a crash, if no other is asked for.
const CRASHED: u8 = 1;

/// Works, writes, says that it is done, and ends as it was told to.
pub(crate) fn test_plugin(args: &TestPluginArgs) -> Result<ExitCode, AppError> {
    let attack = match &args.command {
        Some(TestPluginCommand::E2e(args)) => return e2e::suite(args),
        Some(TestPluginCommand::Attack(attack)) => Some(attack),
        None => None,
    };
    let runtime = one_thread()?;
    let code = runtime.block_on(async {
        // The first process of a container hears of SIGTERM only if it asks for it.
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| AppError::system("signals cannot be caught").because(&error))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(TERMINATED),
            code = perform(args, attack) => match code? {
                Done::Exit(code) => return Ok(code),
                Done::Written => {}
            },
        }
        finish(args, args.stay || attack.is_some_and(|attack| attack.stay), terminate).await
    });
    // A file that is still being written need not be waited for.
    runtime.shutdown_background();
    code.map(ExitCode::from)
}

/// How far it came.
enum Done {
    /// It ends here.
    Exit(u8),
    /// The results are written, and whoever has to know was told.
    Written,
}

async fn perform(args: &TestPluginArgs, attack: Option<&AttackArgs>) -> Result<Done, AppError> {
    if let Some(attack) = attack {
        attack::attack(attack).await?;
        return Ok(Done::Written);
    }
    progress::work(args).await;
    match args.outcome {
        Ending::Pass | Ending::Fail => {}
        Ending::Crash => {
            let owned = args.clone();
            blocking(move || deliver::half(&owned)).await?;
            say("test-plugin: crashes, as it was told to");
            return Ok(Done::Exit(args.exit.unwrap_or(CRASHED)));
        }
        Ending::Hang => {
            say("test-plugin: hangs, as it was told to");
            pending::<()>().await;
        }
        Ending::None => {
            say("test-plugin: ends without a result, as it was told to");
            return Ok(Done::Exit(args.exit.unwrap_or(0)));
        }
        Ending::Oom => {
            say("test-plugin: takes all memory, as it was told to");
            return blocking(|| Err(memory::take_all())).await;
        }
    }
    let owned = args.clone();
    if let Some(what) = args.adapter_result {
        blocking(move || adapter::result(what, &owned.results_path)).await?;
        say(&format!("test-plugin: `{}` is written", args.results_path.display()));
        return Ok(Done::Written);
    }
    let sent = blocking(move || {
        let sent = deliver::results(&owned)?;
        if !owned.no_done {
            deliver::done(&owned.results_dir, &sent)?;
        }
        Ok(sent)
    });
    let sent = sent.await?;
    let done = if args.no_done { "written, and not said to be done" } else { "done" };
    say(&format!("test-plugin: `{}` is {done}", sent.display()));
    Ok(Done::Written)
}

/// After the results: stays if it was told to, and gives its exit code.
async fn finish(args: &TestPluginArgs, stay: bool, mut terminate: Signal) -> Result<u8, AppError> {
    if stay {
        terminate.recv().await;
        say("test-plugin: asked to stop");
    }
    Ok(args.exit.unwrap_or(0))
}

/// Runs what would keep signals waiting on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(AppError::system("the test plugin broke").because(&error)),
    }
}
