//! `plumbline status`

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::{Global, StatusArgs};
use crate::logging;

mod cluster;
mod document;
mod end;
mod local;
mod sentence;
mod table;
mod trouble;

pub(super) use end::{code_of_run, print_end};
pub(super) use trouble::{explain, told};

/// Shows the status of a run in a cluster, or of a run of this user on this machine.
pub(crate) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    if args.local { local::status(args, global) } else { cluster::status(args, global) }
}
