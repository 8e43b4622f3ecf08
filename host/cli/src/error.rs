//! Prints errors and maps them to exit codes.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use plumbline_app::{AppError, ErrorKind};
use plumbline_core::text;
use plumbline_core::verdict::Verdict;

use crate::hints;

/// Exit codes other than those of verdicts (docs/exit-codes.md): the command line or an input is
/// invalid.
pub(crate) const USAGE: u8 = 2;
/// The command completed, and a check failed.
pub(crate) const FAILED: u8 = 1;
/// Something that a verdict needs is missing.
pub(crate) const INCOMPLETE: u8 = 3;
/// A system failure.
pub(crate) const SYSTEM: u8 = 4;
/// The reader of the output closed it: 128 plus the number of SIGPIPE, as shells report it.
pub(crate) const PIPE_CLOSED: u8 = 141;

/// Prints errors for people.
pub(crate) trait PrintError {
    /// Prints the error to stderr, and returns its exit code.
    fn print(&self) -> ExitCode;
}

impl PrintError for AppError {
    fn print(&self) -> ExitCode {
        if self.kind() != ErrorKind::OutputClosed {
            // If nobody reads stderr, the exit code remains.
            let _ = write!(anstream::stderr(), "{}", Printed(self));
        }
        ExitCode::from(match self.kind() {
            ErrorKind::Usage => USAGE,
            ErrorKind::System => SYSTEM,
            ErrorKind::Failed => FAILED,
            ErrorKind::OutputClosed => PIPE_CLOSED,
        })
    }
}

/// Formats an error for the terminal: its summary, its causes and a hint, one below the other.
struct Printed<'a>(&'a AppError);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = anstyle::Style::new().bold();
        let red = style.fg_color(Some(anstyle::AnsiColor::Red.into()));
        writeln!(f, "{red}error:{red:#} {}", indented(self.0.summary()))?;
        for cause in self.0.causes() {
            writeln!(f, "{style}cause:{style:#} {}", indented(cause))?;
        }
        if let Some(hint) = self.0.hint_text().and_then(hints::fitting) {
            writeln!(f, "{style}hint:{style:#}  {}", indented(&hint))?;
        }
        Ok(())
    }
}

/// Makes the text safe for a terminal, and indents lines after the first.
fn indented(text: &str) -> String {
    text::indented(text, "       ")
}

/// Returns the exit code of a verdict.
pub(crate) fn verdict_code(verdict: Verdict) -> ExitCode {
    ExitCode::from(verdict.exit_code())
}
