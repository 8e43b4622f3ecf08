//! `plumbline run`

mod cluster;
mod failures;
mod interrupt;
mod local;

use std::process::ExitCode;

use plumbline_app::judges::not_with;
use plumbline_app::{AppError, suite};

use crate::args::{Global, RunArgs};

pub(crate) use cluster::run as in_cluster;

/// Runs plugins in a cluster, or on this machine.
pub(crate) fn run(args: RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = &args;
    if let (Some(program), false) = (local.command.first(), local.local) {
        return Err(AppError::usage(format!("`{program}` is a command, and commands run on this machine only"))
            .hint(format!("add `--local`: `plumbline run --local -- {}`", local.command.join(" "))));
    }
    if local.local || local.resume.is_some() {
        suite::not_local(&(&options.suite).into())?;
        if local.resume.is_some() {
            not_with(
                &(&options.judge).into(),
                "a continued run has its plugins already",
                "judge its archive with `plumbline results` when it is there",
            )?;
        }
        local::run(&args, global)
    } else {
        cluster::run(options, global).map(|ended| ended.code)
    }
}
