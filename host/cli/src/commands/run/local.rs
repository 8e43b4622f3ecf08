//! `plumbline run --local`

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::local_run::{CommandOptions, LocalRunOptions, StartedRun, prepare};
use plumbline_app::runtime::runtime;
use tokio_util::sync::CancellationToken;

use super::interrupt::cancel_on_signal;
use crate::args::{ExitCodes, Global, RunArgs};
use crate::context::context;
use crate::error::verdict_code;
use crate::logging;
use crate::output::outcome::print_outcome;
use crate::ui::{Watch, say};

/// Runs plugins on this machine to their verdict.
pub(super) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = args;
    let format = local.output_format()?;
    let prepared = prepare(&context(&options.registry), &local_options(args))?;
    runtime()?.block_on(async {
        logging::init_run(global, &prepared.log_file())?;
        let started = prepared.start().await?;
        if options.dry_run {
            return dry_run(started);
        }
        let watch = Watch::start(started.run(), options.wait_output, started.continued, started.work_dir());
        let cancel = CancellationToken::new();
        let signals = tokio::spawn(cancel_on_signal(cancel.clone(), started.dispatcher()));
        let executed = started.execute(cancel).await;
        signals.abort();
        watch.stop().await;
        let run = executed?;
        let printed = print_outcome(&run.finished, format, &run.last_output);
        // After a hangup, there is no terminal to print on. The archive has everything.
        if !run.finished.status.interrupted {
            printed?;
        }
        Ok(match global.exit_code {
            ExitCodes::Strict => verdict_code(run.finished.verdict),
            ExitCodes::Compat => ExitCode::SUCCESS,
        })
    })
}

fn local_options(args: &RunArgs) -> LocalRunOptions {
    let RunArgs { local, options } = args;
    let command = CommandOptions {
        command: local.command.clone(),
        name: local.name.clone(),
        format: local.result_format().map(str::to_owned),
    };
    LocalRunOptions {
        plugins: options.plugins.clone(),
        command: (!local.command.is_empty()).then_some(command),
        resume: local.resume.clone(),
        output: options.output.clone(),
        timeout: options.timeout.unwrap_or_default().limit(),
        requirements: options.requirements(),
        judges: (&options.judge).into(),
        limits: options.limits.file.clone(),
    }
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
    })?;
    Ok(ExitCode::SUCCESS)
}
