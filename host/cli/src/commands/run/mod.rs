//! `plumbline run`

mod args;
mod cluster;
mod local;

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::judges::not_with;
use plumbline_app::options::RunOptions;
use plumbline_app::suite;

use crate::args::global::Global;
use crate::logging;

pub(crate) use args::{Follow, RunArgs, follows_to_end};
pub(crate) use cluster::run as in_cluster;
pub(crate) use local::run as on_this_machine;

/// Runs plugins in a cluster, or on this machine.
pub(crate) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = args;
    let format = local.output_format(options.format)?;
    if let (Some(program), false) = (local.command.first(), local.local) {
        return Err(AppError::usage(format!("`{program}` is a command, but commands run only on this machine"))
            .hint(format!("add `--local`: `plumbline run --local -- {}`", local.command.join(" "))));
    }
    if local.local || local.resume.is_some() {
        not_local(options)?;
        if local.resume.is_some() {
            not_with(
                &options.judge,
                "a continued run keeps the judges it started with",
                "add lists and checks to the finished archive: `plumbline results ARCHIVE --known-failures FILE`",
            )?;
        }
        let ended = local::run(args, format, global)?;
        ended.print(format)?;
        Ok(ended.code)
    } else {
        logging::init(global);
        let ended = cluster::run(options, args::follows(options)?, global)?;
        ended.print(format)?;
        Ok(ended.code)
    }
}

/// Checks that no option is set that changes only what runs in a cluster.
pub(crate) fn not_local(options: &RunOptions) -> Result<(), AppError> {
    suite::not_local(&options.suite)?;
    let env = (!options.cluster_run.plugin_env.is_empty()).then_some("--plugin-env");
    let image = (!options.cluster_run.plugin_image.is_empty()).then_some("--plugin-image");
    match env.or(image) {
        None => Ok(()),
        Some(option) => Err(AppError::usage(format!("`{option}` is for runs in a cluster only"))
            .hint("set the variable in the environment of this command or in the definition, or remove `--local`")),
    }
}
