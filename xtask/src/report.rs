//! What is said to the person. All of it goes to stderr: stdout belongs to the programs that are run, and to results.

use std::fmt::Display;
use std::io::{self, Write};

use crate::error::Error;

/// Says what is being done.
pub(crate) fn say(message: impl Display) {
    line(format_args!("xtask: {message}"));
}

/// One line as it is. A closed stderr is no reason to stop working.
pub(crate) fn line(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// An error with its hint.
pub(crate) fn error(error: &Error) {
    line(format_args!("error: {error}"));
    if let Some(hint) = error.hint() {
        line(format_args!("hint:  {hint}"));
    }
}
