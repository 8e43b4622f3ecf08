//! Errors and exit codes for a status that cannot be shown.

use std::io::Write as _;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::text::one_line;
use plumbline_core::text;
use plumbline_kubernetes::ClusterError;
use plumbline_kubernetes::status::StatusError;

use crate::args::{ExitCodes, Global};
use crate::error::PrintError as _;
use crate::hints;
use crate::ui::say;

/// Sonobuoy's exit code for all errors.
const COMPAT_FAILURE: u8 = 1;

/// Converts the error for users.
pub(crate) fn told(error: &StatusError) -> AppError {
    let told = match error {
        // Nothing was found, most likely because of a wrong namespace.
        StatusError::NoNamespace { .. } | StatusError::NoPod { .. } => AppError::usage(error.to_string()),
        StatusError::Cluster(error) => {
            AppError::system(format!("the cluster cannot be asked: failed to {}", error.what)).because(&Cause(error))
        }
        _ => AppError::system(error.to_string()),
    };
    match error.hint() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// Shows only the cause, because the summary above it contains the failed action.
#[derive(Debug)]
struct Cause<'a>(&'a ClusterError);

impl std::fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.cause)
    }
}

impl std::error::Error for Cause<'_> {}

/// Reports why there is no status, and returns the exit code. A run that is about to start is not
/// an error.
pub(crate) fn explain(error: &StatusError, global: &Global) -> Result<ExitCode, AppError> {
    let begins = match error {
        StatusError::Pending { waiting, .. } => !waiting.as_ref().is_some_and(|waiting| waiting.is_image_trouble()),
        StatusError::NoAnnotation { .. } => true,
        _ => false,
    };
    let code = if begins {
        let hint = error.hint().and_then(|hint| hints::fitting(&hint));
        let hint = hint.map(|hint| format!("\nhint:  {}", text::one_line(&hint))).unwrap_or_default();
        let printed = writeln!(anstream::stdout(), "{}{hint}", text::one_line(&error.to_string()));
        printed.map_err(|error| AppError::printing("failed to print the status", &error))?;
        ExitCode::SUCCESS
    } else {
        told(error).print()
    };
    if let StatusError::Pending { events, .. } = error {
        for event in events {
            say(&format!("event: {}", one_line(event)));
        }
    }
    Ok(match global.exit_code {
        ExitCodes::Compat if !begins => ExitCode::from(COMPAT_FAILURE),
        _ => code,
    })
}
