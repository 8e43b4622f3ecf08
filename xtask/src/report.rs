//! Messages to the user. They go to stderr: stdout is for results, and for the programs that are
//! run.

use std::fmt::Display;
use std::io::{self, Write};

use crate::error::Error;

/// Prints what is being done.
pub(crate) fn print_status(message: impl Display) {
    line(format_args!("xtask: {message}"));
}

/// Prints one line unchanged. A closed stderr is ignored.
pub(crate) fn line(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Prints an error with its hint.
pub(crate) fn error(error: &Error) {
    line(format_args!("error: {error}"));
    if let Some(hint) = error.hint() {
        line(format_args!("hint:  {hint}"));
    }
}
