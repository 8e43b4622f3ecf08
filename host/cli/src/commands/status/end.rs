//! Prints the outcome of a run.

use std::io::{self, Write};
use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_core::Verdict;
use plumbline_core::run_status::RunPhase;
use plumbline_kubernetes::status::Seen;

use super::sentence::{how, notes, sentence};
use super::table;
use crate::args::{ExitCodes, Global};
use crate::error::verdict_code;

/// Prints the closing sentence and notes. `fetched`: the caller downloads the archive next.
pub(super) fn closing(seen: &Seen, now: Timestamp, fetched: bool, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}", if fetched { how(seen) } else { sentence(seen) })?;
    for note in notes(seen, now) {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// Prints the summary of a finished run. `fetched`: the caller downloads the archive next.
pub(crate) fn print_end(seen: &Seen, fetched: bool) -> Result<(), AppError> {
    let mut out = anstream::stdout().lock();
    write!(out, "{}", table::summary(&seen.status))
        .and_then(|()| closing(seen, Timestamp::now(), fetched, &mut out))
        .map_err(|error| AppError::printing("failed to print the outcome", &error))
}

/// Returns the exit code for the state of a run.
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
