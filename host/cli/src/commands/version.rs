//! `plumbline version`

use std::io::Write;
use std::process::ExitCode;

use crate::args::VersionArgs;
use crate::error::CliError;

/// Prints the version and what it was built for.
pub(crate) fn version(args: &VersionArgs) -> Result<ExitCode, CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let mut out = std::io::stdout().lock();
    let written = if args.short {
        writeln!(out, "v{version}")
    } else {
        writeln!(out, "Plumbline Version: v{version}").and_then(|()| {
            writeln!(out, "Module Generation: {}", plumbline_sandbox::HOST_GENERATION)?;
            writeln!(out, "Platform: {}/{}", std::env::consts::OS, std::env::consts::ARCH)
        })
    };
    written.map_err(|error| CliError::printing("the version cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
