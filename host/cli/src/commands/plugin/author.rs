//! What the commands for authors share: their errors, their data, the host that checks.

use std::io;

use plumbline_author::{AuthorError, ErrorKind};
use serde::Serialize;

use crate::args::RunFormat;
use crate::error::CliError;
use crate::output::{print_json, print_yaml};

/// What a person is told.
pub(super) fn error(error: AuthorError) -> CliError {
    let told = match error.kind {
        ErrorKind::Input => CliError::usage(&error.what),
        ErrorKind::System => CliError::system(&error.what),
    };
    let told = match &error.cause {
        Some(cause) => told.because(&io::Error::other(cause.clone())),
        None => told,
    };
    match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// Prints data.
pub(super) fn print(data: &impl Serialize, format: RunFormat) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    let printed = match format {
        RunFormat::Json => print_json(data, &mut out),
        RunFormat::Yaml => print_yaml(data, &mut out),
    };
    printed.map_err(|error| CliError::printing("failed to print the data", &error))
}
