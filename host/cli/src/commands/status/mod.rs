//! `plumbline status`

mod args;
mod cluster;
mod document;
mod ended;
mod local;
mod table;

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::global::Global;

pub(crate) use args::StatusArgs;
pub(crate) use document::run_document;
pub(crate) use ended::{code_of_run, explain, print_end, status_error};

/// Shows the status of a run in a cluster, or of a run of this user on this machine.
pub(crate) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    if args.local { local::status(args, global) } else { cluster::status(args, global) }
}
