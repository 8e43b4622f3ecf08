//! `plumbline conformance`

mod run;

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::{ConformanceArgs, ConformanceCommand, Global};

/// Does what the subcommand says.
pub(crate) fn conformance(args: ConformanceArgs, global: &Global) -> Result<ExitCode, AppError> {
    match args.command {
        ConformanceCommand::Run(args) => run::run(*args, global),
    }
}
