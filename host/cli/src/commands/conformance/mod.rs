//! `plumbline conformance`

mod run;

use std::process::ExitCode;

use crate::args::{ConformanceArgs, ConformanceCommand, Global};
use crate::error::CliError;

/// Does what the subcommand says.
pub(crate) fn conformance(args: ConformanceArgs, global: &Global) -> Result<ExitCode, CliError> {
    match args.command {
        ConformanceCommand::Run(args) => run::run(*args, global),
    }
}
