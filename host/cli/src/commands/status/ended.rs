//! What is printed of a run at the end of a command, and the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::report::status::{how, notes, sentence};
use plumbline_app::report::text::one_line;
use plumbline_core::run_status::RunPhase;
use plumbline_core::{Verdict, text};
use plumbline_kubernetes::status::{Seen, StatusError};

use crate::args::global::{ExitCodes, Global};
use crate::args::name::Name;
use crate::commands::status::table;
use crate::error::{PrintError as _, fitting, verdict_code};
use crate::output::print;
use crate::ui::say;

/// Prints the closing sentence and notes. `fetched`: the caller downloads the archive next.
pub(super) fn closing(seen: &Seen, now: Timestamp, fetched: bool, out: &mut impl Write) -> io::Result<()> {
    let program = Name::current().program();
    writeln!(out, "\n{}", if fetched { how(seen, program) } else { sentence(seen, program) })?;
    for note in notes(seen, now) {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// Prints the summary of a finished run. `fetched`: the caller downloads the archive next.
pub(crate) fn print_end(seen: &Seen, fetched: bool) -> Result<(), AppError> {
    print("failed to print the outcome", |out| {
        write!(out, "{}", table::summary(&seen.status))?;
        closing(seen, Timestamp::now(), fetched, out)
    })?;
    Ok(())
}

pub(crate) fn code_of_run(seen: &Seen, global: &Global) -> ExitCode {
    let failed = seen.status.status == RunPhase::Failed;
    match global.exit_code {
        ExitCodes::Compat if failed => ExitCode::FAILURE,
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if seen.is_over() => verdict_code(Verdict::from_run(&seen.status)),
        ExitCodes::Strict if seen.silent_for(Timestamp::now()).is_some() => verdict_code(Verdict::SystemFailure),
        // An unfinished run has no verdict yet. Showing it succeeded.
        ExitCodes::Strict => ExitCode::SUCCESS,
    }
}

/// Sonobuoy's exit code for all errors.
const COMPAT_FAILURE: u8 = 1;

pub(crate) fn status_error(error: &StatusError) -> AppError {
    let app_error = match error {
        // Nothing was found, most likely because of a wrong namespace.
        StatusError::NoNamespace { .. } | StatusError::NoPod { .. } => AppError::usage(error.to_string()),
        StatusError::Cluster(error) => {
            // Without the failed action, which the summary has.
            AppError::system(format!("failed to query the cluster: failed to {}", error.what))
                .cause(error.cause.clone())
        }
        _ => AppError::system(error.to_string()),
    };
    app_error.hint_if(error.hint())
}

/// Reports why the status is missing, and returns the exit code. A run that is about to start is no
/// error.
pub(crate) fn explain(error: &StatusError, global: &Global) -> Result<ExitCode, AppError> {
    let begins = match error {
        StatusError::Pending { waiting, .. } => !waiting.as_ref().is_some_and(|waiting| waiting.is_image_trouble()),
        StatusError::NoAnnotation { .. } => true,
        _ => false,
    };
    let code = if begins {
        let hint = error.hint().and_then(|hint| fitting(&hint));
        let hint = hint.map(|hint| format!("\nhint:  {}", text::one_line(&hint))).unwrap_or_default();
        print("failed to print the status", |out| writeln!(out, "{}{hint}", text::one_line(&error.to_string())))?
    } else {
        status_error(error).print()
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
