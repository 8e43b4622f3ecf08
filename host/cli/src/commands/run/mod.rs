//! `plumbline run`

mod cluster;
mod command;
mod failures;
mod interrupt;
mod local;
mod resume;
mod tools;

use std::process::ExitCode;

use crate::args::{Global, RunArgs};
use crate::commands::suite::not_here;
use crate::error::CliError;
use crate::judging::not_with;

pub(crate) use cluster::Ended;
pub(crate) use command::STDOUT_FILE;

/// Runs plugins in a cluster, or on this machine.
pub(crate) fn run(args: RunArgs, global: &Global) -> Result<ExitCode, CliError> {
    crate::sources::remote::use_registries(&args.registry);
    if let (Some(program), false) = (args.command.first(), args.local) {
        return Err(CliError::usage(format!("`{program}` is a command, and commands run on this machine only"))
            .hint(format!("add `--local`: `plumbline run --local -- {}`", args.command.join(" "))));
    }
    if args.local || args.resume.is_some() {
        not_here(&args.suite)?;
        if args.resume.is_some() {
            not_with(
                &args.judge,
                "a run that is gone on with has its plugins already",
                "judge its archive with `plumbline results` when it is there",
            )?;
        }
        local::run(args, global)
    } else {
        in_cluster(&args, global).map(|ended| ended.code)
    }
}

/// Runs plugins in a cluster, for who wants to do more with what comes of it.
pub(crate) fn in_cluster(args: &RunArgs, global: &Global) -> Result<Ended, CliError> {
    crate::sources::remote::use_registries(&args.registry);
    if args.manifest.is_some() {
        let has =
            args.suite.given().map(|option| (option, "changes a plugin, and the manifest has its plugins already"));
        let made = || {
            args.cluster_run
                .changes_manifest()
                .map(|option| (option, "changes the manifest, and this one is made already"))
        };
        if let Some((option, why)) = has.or_else(made) {
            return Err(CliError::usage(format!("`{option}` {why}"))
                .hint("give it to `plumbline gen`, which makes the manifest"));
        }
    }
    if args.manifest.is_some() {
        not_with(
            &args.judge,
            "the manifest has its plugins already",
            "give it to `plumbline gen`, which makes the manifest",
        )?;
    }
    cluster::run(args, global)
}
