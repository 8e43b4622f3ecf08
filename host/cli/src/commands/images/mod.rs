//! `plumbline images`

use std::process::ExitCode;

use crate::args::{ImagesArgs, Global};
use crate::error::CliError;

/// Does what the subcommand says.
pub(crate) fn images(args: &ImagesArgs, _global: &Global) -> Result<ExitCode, CliError> {
    match args.command {}
}
