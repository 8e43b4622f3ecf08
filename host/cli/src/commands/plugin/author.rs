//! Functions shared by the commands for plugin authors.

use std::io;

use plumbline_app::AppError;
use plumbline_app::report::{print_json, print_yaml};
use plumbline_author::{AuthorError, ErrorKind};
use serde::Serialize;

use crate::args::RunFormat;

/// Converts an error for users.
pub(super) fn error(error: AuthorError) -> AppError {
    let told = match error.kind {
        ErrorKind::Input => AppError::usage(&error.what),
        ErrorKind::System => AppError::system(&error.what),
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
pub(super) fn print(data: &impl Serialize, format: RunFormat) -> Result<(), AppError> {
    let mut out = io::stdout().lock();
    let printed = match format {
        RunFormat::Json => print_json(data, &mut out),
        RunFormat::Yaml => print_yaml(data, &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the data", &error))
}
