//! `plumbline conformance run`: `plumbline run` with settings.

use std::process::ExitCode;

use plumbline_conformance::suite::{self, Mode};

use crate::args::{ConformanceRunArgs, Global, RunArgs};
use crate::commands::run::in_cluster;
use crate::error::CliError;

/// Runs the suite to its verdict.
pub(crate) fn run(args: ConformanceRunArgs, global: &Global) -> Result<ExitCode, CliError> {
    let args = whole(args)?;
    let ended = in_cluster(&args.run, global)?;
    Ok(ended.code)
}

/// The settings that make it the whole way.
fn whole(mut args: ConformanceRunArgs) -> Result<ConformanceRunArgs, CliError> {
    let run = &mut args.run;
    refuse_local(run)?;
    if run.plugins.is_empty() && run.manifest.is_none() {
        run.plugins = vec![suite::PLUGIN.to_owned()];
    }
    // Without a limit of its own: each plugin has one, so that the run ends.
    run.wait.get_or_insert(0);
    run.retrieve = true;
    if args.submission_dir.is_some() && !run.suite.chooses() && run.manifest.is_none() {
        run.suite.mode = Some(Mode::CertifiedConformance);
    }
    Ok(args)
}

fn refuse_local(run: &RunArgs) -> Result<(), CliError> {
    let given = [(run.local, "--local"), (run.resume.is_some(), "--continue"), (run.format.is_some(), "--format")];
    match given.into_iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, option)) => {
            Err(CliError::usage(format!("`{option}` is for runs on this machine, and the suite runs in a cluster"))
                .hint("name the cluster with `--kubeconfig`, or run other plugins with `plumbline run --local`"))
        }
    }
}
