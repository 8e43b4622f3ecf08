//! `plumbline modes`

use std::process::ExitCode;

use crate::args::ModesArgs;
use crate::error::CliError;

/// Prints the modes.
pub(crate) fn modes(_args: &ModesArgs) -> Result<ExitCode, CliError> {
    Ok(ExitCode::SUCCESS)
}
