//! `plumbline completion`

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;

/// Prints the completion script for `shell`.
pub(crate) fn completion(shell: Shell) -> Result<ExitCode, CliError> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "plumbline", &mut script);
    std::io::stdout()
        .write_all(&script)
        .map_err(|error| CliError::printing("the completion script cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
