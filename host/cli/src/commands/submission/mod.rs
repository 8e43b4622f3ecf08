//! `plumbline submission`

use std::process::ExitCode;

use crate::args::{Global, SubmissionArgs};
use crate::error::CliError;

/// Does what the subcommand says.
pub(crate) fn submission(args: &SubmissionArgs, _global: &Global) -> Result<ExitCode, CliError> {
    match args.command {}
}
