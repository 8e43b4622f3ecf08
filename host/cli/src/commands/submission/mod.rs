//! `plumbline submission`

mod assemble;
mod cases;
mod check;
mod folder;
mod print;
mod required;
mod run_facts;

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::{Global, SubmissionArgs, SubmissionCommand};
use crate::logging;

pub(crate) use assemble::{assemble, product};
pub(crate) use check::check;

/// Does what the subcommand says.
pub(crate) fn submission(args: &SubmissionArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    match &args.command {
        SubmissionCommand::Assemble(args) => assemble(args).map(|_| ExitCode::SUCCESS),
        SubmissionCommand::Check(args) => check(args, global),
    }
}
