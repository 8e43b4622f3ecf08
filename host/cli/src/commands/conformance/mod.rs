//! `plumbline conformance`

use std::process::ExitCode;

use crate::args::{ConformanceArgs, Global};
use crate::error::CliError;

/// Does what the subcommand says.
pub(crate) fn conformance(args: &ConformanceArgs, _global: &Global) -> Result<ExitCode, CliError> {
    match args.command {}
}
