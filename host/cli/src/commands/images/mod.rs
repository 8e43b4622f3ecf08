//! `plumbline images`

use std::process::ExitCode;

use crate::args::{Global, ImagesArgs};
use crate::error::CliError;

/// Does what the subcommand says.
pub(crate) fn images(args: &ImagesArgs, _global: &Global) -> Result<ExitCode, CliError> {
    match args.command {}
}
