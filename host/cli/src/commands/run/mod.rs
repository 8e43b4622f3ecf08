//! `plumbline run`

mod cluster;
mod command;
mod failures;
mod interrupt;
mod local;
mod resume;
mod tools;

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::judges::not_with;

use crate::args::{Global, RunArgs, RunOptions};
use crate::commands::suite::not_here;

pub(crate) use cluster::Ended;
pub(crate) use command::STDOUT_FILE;

/// Runs plugins in a cluster, or on this machine.
pub(crate) fn run(args: RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = &args;
    if let (Some(program), false) = (local.command.first(), local.local) {
        return Err(AppError::usage(format!("`{program}` is a command, and commands run on this machine only"))
            .hint(format!("add `--local`: `plumbline run --local -- {}`", local.command.join(" "))));
    }
    if local.local || local.resume.is_some() {
        not_here(&options.suite)?;
        if local.resume.is_some() {
            not_with(
                &(&options.judge).into(),
                "a continued run has its plugins already",
                "judge its archive with `plumbline results` when it is there",
            )?;
        }
        local::run(args, global)
    } else {
        in_cluster(options, global).map(|ended| ended.code)
    }
}

/// Runs plugins in a cluster, for who wants to do more with what comes of it.
pub(crate) fn in_cluster(args: &RunOptions, global: &Global) -> Result<Ended, AppError> {
    if args.manifest.is_some() {
        let has =
            args.suite.given().map(|option| (option, "changes a plugin, and the manifest has its plugins already"));
        let made = || {
            args.cluster_run
                .changes_manifest()
                .map(|option| (option, "changes the manifest, and this one is made already"))
        };
        if let Some((option, why)) = has.or_else(made) {
            return Err(AppError::usage(format!("`{option}` {why}"))
                .hint("give it to `plumbline gen`, which makes the manifest"));
        }
    }
    if args.manifest.is_some() {
        not_with(
            &(&args.judge).into(),
            "the manifest has its plugins already",
            "give it to `plumbline gen`, which makes the manifest",
        )?;
    }
    cluster::run(args, global)
}
