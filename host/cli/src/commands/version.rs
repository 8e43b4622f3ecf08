//! `plumbline version`

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::args::{RunFormat, VersionArgs};
use crate::error::CliError;
use crate::output::{print_json, print_yaml};

/// Prints the version and what it was built for.
pub(crate) fn version(args: &VersionArgs) -> Result<ExitCode, CliError> {
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let generation = plumbline_sandbox::HOST_GENERATION.to_string();
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let mut out = std::io::stdout().lock();
    // Keys are only ever added.
    let document = || json!({"version": version, "module-generation": generation, "platform": platform});
    let written = match args.format {
        Some(RunFormat::Json) => print_json(&document(), &mut out),
        Some(RunFormat::Yaml) => print_yaml(&document(), &mut out),
        None if args.short => writeln!(out, "{version}"),
        None => writeln!(out, "Plumbline Version: {version}\nModule Generation: {generation}\nPlatform: {platform}"),
    };
    written.map_err(|error| CliError::printing("the version cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
