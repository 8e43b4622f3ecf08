//! `plumbline run`

mod cluster;
mod local;

use std::process::ExitCode;

use crate::args::{Global, RunArgs};
use crate::error::CliError;

/// Runs plugins in a cluster, or on this machine.
pub(crate) fn run(args: RunArgs, global: &Global) -> Result<ExitCode, CliError> {
    crate::sources::remote::use_registries(&args.registry);
    if args.local || args.resume.is_some() { local::run(args, global) } else { cluster::run(&args, global) }
}
