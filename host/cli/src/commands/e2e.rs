//! `plumbline e2e`

use std::process::ExitCode;

use crate::args::{E2eArgs, Global};
use crate::error::CliError;

/// Lists tests.
pub(crate) fn e2e(_args: &E2eArgs, _global: &Global) -> Result<ExitCode, CliError> {
    Ok(ExitCode::SUCCESS)
}
