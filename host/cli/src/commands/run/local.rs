//! `plumbline run --local`: runs plugins on this machine.

use std::process::ExitCode;
use std::sync::Arc;

use plumbline_app::AppError;
use plumbline_app::local::LocalDispatcher;
use plumbline_app::local_run::{FinishedRun, StartedRun, prepare};
use plumbline_app::report::outcome::{outcome_document, outcome_text};
use plumbline_app::runtime::runtime;
use plumbline_app::signing::signing_key;
use plumbline_core::Verdict;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::global::Global;
use crate::args::shared::{RunFormat, context};
use crate::commands::history::prune;
use crate::commands::results_attest::attest_run;
use crate::commands::run::RunArgs;
use crate::commands::run::cluster::Ended;
use crate::commands::wait::exit_on_signal;
use crate::error::verdict_code;
use crate::logging;
use crate::output::print;
use crate::ui::{Watch, say};

/// Runs plugins on this machine, and prints the outcome for people, or returns it as data.
pub(crate) fn run(args: &RunArgs, format: Option<RunFormat>, global: &Global) -> Result<Ended, AppError> {
    let options = &args.options;
    let context = context(&options.registry);
    // An unusable key must not be noticed only after the run.
    let key = options.sign.as_deref().map(|file| signing_key(&context, Some(file))).transpose()?;
    let prepared = prepare(&context, options, &args.local)?;
    runtime()?.block_on(async {
        logging::init_run(global, &prepared.log_file())?;
        let started = prepared.start().await?;
        if options.dry_run {
            return dry_run(started).map(Ended::unseen);
        }
        if let Some(url) = started.metrics_url() {
            say(&format!("metrics: {url}"));
        }
        let watch = Watch::start(&started.run, options.wait_output, started.continued, &started.record.work);
        let cancel = CancellationToken::new();
        let signals = tokio::spawn(cancel_on_signal(cancel.clone(), Arc::clone(&started.dispatcher)));
        let executed = Box::pin(started.execute(cancel)).await;
        exit_on_signal();
        signals.abort();
        watch.stop().await;
        let run = executed?;
        let interrupted = run.finished.status.interrupted;
        // The caller prints data, and may add to it. After an interruption, nothing is added.
        let document = format.filter(|_| !interrupted).map(|_| outcome_document(&run.finished));
        let printed = if document.is_none() { print_outcome(&run, format) } else { Ok(ExitCode::SUCCESS) };
        // The attestation does not depend on whether somebody reads the outcome.
        let attest = |key| attest_run(&context, &run.finished.archive, key, run.finished.verdict);
        let attested = key.as_ref().map_or(Ok(()), attest);
        prune(&context, &options.retention, &run.finished.archive);
        // After a hangup, there is no terminal to print on. The archive has everything.
        if !interrupted {
            printed?;
        }
        let verdict = run.finished.verdict;
        let ended = Ended {
            code: global.code(verdict_code(verdict)),
            passed: verdict == Verdict::Passed,
            archives: vec![run.finished.archive],
            document,
        };
        if let Err(error) = attested {
            ended.print(format)?;
            return Err(error);
        }
        Ok(ended)
    })
}

fn print_outcome(run: &FinishedRun, format: Option<RunFormat>) -> Result<ExitCode, AppError> {
    let printed = print("failed to print the outcome", |out| match format {
        Some(format) => format.write(&outcome_document(&run.finished), out),
        None => outcome_text(&run.finished, &run.last_output, out),
    });
    printed.map_err(|error| error.hint(format!("the archive is complete: {}", run.finished.archive.display())))
}

/// Prints what would happen. Nothing is left behind.
fn dry_run(started: StartedRun) -> Result<ExitCode, AppError> {
    started.discard(|plugin| {
        let expected: Vec<_> = plugin.expected.iter().map(ToString::to_string).collect();
        say(&format!(
            "would run `{}` ({}), read its results as `{}`, and expect: {}",
            plugin.name(),
            plugin.source.definition.driver,
            plugin.post_processor.info().name.as_deref().unwrap_or("raw"),
            if expected.is_empty() { "nothing".to_owned() } else { expected.join(", ") },
        ));
        let own = &plugin.source.definition.plumbline;
        if let Some(file) = &own.component {
            say(&format!("`{}` would run the check `{file}`, with these rights: {}", plugin.name(), own.grants));
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Bit of SIGHUP in the masks of `/proc/self/status`, whose bit 0 is signal 1.
const HANGUP_BIT: u64 = 1;

/// Cancels the run at the first SIGINT, SIGTERM or SIGHUP, so that its results are archived. A second
/// SIGINT or SIGTERM ends this process at once. A second SIGHUP does not, because the kernel and a shell
/// may both send one when a session ends.
pub(super) async fn cancel_on_signal(cancel: CancellationToken, dispatcher: Arc<LocalDispatcher>) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        tracing::warn!("failed to catch signals: Ctrl-C ends this process without an archive");
        return;
    };
    // `nohup` starts processes with SIGHUP ignored.
    let mut hangup = if ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() };
    let mut asked = false;
    loop {
        let hung_up = tokio::select! {
            _ = interrupt.recv() => false,
            _ = terminate.recv() => false,
            () = received(&mut hangup) => true,
        };
        if asked && !hung_up {
            // Plugins have their own process groups, and would outlive this process.
            dispatcher.kill_all();
            std::process::exit(130);
        }
        if !cancel.is_cancelled() {
            say("interrupted: stopping plugins and archiving their results; interrupt again to stop immediately");
            cancel.cancel();
        }
        asked |= !hung_up;
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored (proc(5), `SigIgn`).
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & HANGUP_BIT != 0)
}
