//! Why there is no status to be shown, as a person is told, and the exit code that it stands for.

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

/// The exit code of other tools of the field for whatever went wrong.
const COMPAT_FAILURE: u8 = 1;

/// The error for a person.
pub(crate) fn told(error: &StatusError) -> AppError {
    let told = match error {
        // Nothing is there to be asked: most likely the wrong namespace.
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

/// Only the cause: what was tried is told above it.
#[derive(Debug)]
struct Cause<'a>(&'a ClusterError);

impl std::fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.cause)
    }
}

impl std::error::Error for Cause<'_> {}

/// Says why there is no status; the exit code. A run that is only about to begin is no error: that it is, is what was asked for.
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
