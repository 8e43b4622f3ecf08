//! `plumbline gen config`

use std::io::Write;
use std::process::ExitCode;

use plumbline_kubernetes::names;

use crate::args::GenConfigArgs;
use crate::error::CliError;

/// Prints the configuration: the defaults, with what the options change.
pub(crate) fn config(args: &GenConfigArgs) -> Result<ExitCode, CliError> {
    let namespace = args.namespace.as_deref().unwrap_or(names::DEFAULT_NAMESPACE);
    let config = args.run.config(namespace, args.timeout)?;
    let text = serde_json::to_string_pretty(&config)
        .map_err(|error| CliError::system("the configuration cannot be written").because(&error))?;
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| CliError::printing("the configuration cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
