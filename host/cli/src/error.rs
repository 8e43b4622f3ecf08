//! What a person is told when something went wrong: what failed, why, and what to do.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use plumbline_core::verdict::Verdict;
use plumbline_core::{RunFailure, text};
use plumbline_kubernetes::ClusterError;

use crate::hints;

/// Exit codes that are no verdict over results (docs/exit-codes.md).
pub(crate) const USAGE: u8 = 2;
/// Complete, and something failed.
pub(crate) const FAILED: u8 = 1;
/// Something is missing that a verdict needs.
pub(crate) const INCOMPLETE: u8 = 3;
pub(crate) const SYSTEM: u8 = 4;
/// What a shell shows for a program that a closed pipe has ended: 128 and the number of SIGPIPE.
pub(crate) const PIPE_CLOSED: u8 = 141;

/// An error for a person, with the exit code that it stands for.
#[derive(Debug, Clone)]
pub(crate) struct CliError {
    code: u8,
    what: String,
    causes: Vec<String>,
    hint: Option<String>,
    /// Nobody is there to be told.
    silent: bool,
}

impl CliError {
    /// The command line or an input file is wrong.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { code: USAGE, what: what.into(), causes: Vec::new(), hint: None, silent: false }
    }

    /// The system failed.
    pub(crate) fn system(what: impl Into<String>) -> Self {
        Self { code: SYSTEM, what: what.into(), causes: Vec::new(), hint: None, silent: false }
    }

    /// What was looked at has failed, so what was asked for is not done.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self { code: FAILED, ..Self::usage(what) }
    }

    /// What was asked for cannot be printed. Whoever reads it may have gone, as `head` does when it has enough: that is no error to tell.
    pub(crate) fn printing(what: impl Into<String>, error: &io::Error) -> Self {
        let told = Self::system(what).because(error);
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { code: PIPE_CLOSED, silent: true, ..told },
            _ => told,
        }
    }

    /// What a cluster did not do.
    pub(crate) fn cluster(error: &ClusterError) -> Self {
        let mut told = Self::system(format!("failed to {}", error.what));
        told.causes.push(error.cause.clone());
        told.hint.clone_from(&error.hint);
        told
    }

    /// Why: an error and what it was caused by. A cause whose text the error before it already tells is left out.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            if !self.causes.last().is_some_and(|told| told.contains(&text)) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// What to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do, after what is said of that already.
    pub(crate) fn hint_more(mut self, hint: &str) -> Self {
        self.hint = Some(match self.hint {
            Some(earlier) => format!("{earlier}\n{hint}"),
            None => hint.to_owned(),
        });
        self
    }

    /// Whether the command line or an input is wrong, rather than the system or whoever reads what is printed.
    pub(crate) fn is_usage(&self) -> bool {
        self.code == USAGE
    }

    /// What failed and why, in one line.
    pub(crate) fn what(&self) -> String {
        let causes: Vec<String> = self.causes.iter().map(|cause| cause.trim_end().replace('\n', "; ")).collect();
        if causes.is_empty() { self.what.clone() } else { format!("{}: {}", self.what, causes.join(": ")) }
    }

    /// The same for the status of a run that it ends.
    pub(crate) fn failure(&self) -> RunFailure {
        RunFailure::new(&self.what(), self.hint.as_deref())
    }

    /// Tells it on stderr; the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.silent {
            // Nobody reads stderr: the exit code still tells.
            let _ = write!(anstream::stderr(), "{self}");
        }
        ExitCode::from(self.code)
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = anstyle::Style::new().bold();
        let red = style.fg_color(Some(anstyle::AnsiColor::Red.into()));
        writeln!(f, "{red}error:{red:#} {}", indented(&self.what))?;
        for cause in &self.causes {
            writeln!(f, "{style}cause:{style:#} {}", indented(cause))?;
        }
        if let Some(hint) = self.hint.as_deref().and_then(hints::fitting) {
            writeln!(f, "{style}hint:{style:#}  {}", indented(&hint))?;
        }
        Ok(())
    }
}

/// The text, safe for a terminal, with further lines below the first.
fn indented(text: &str) -> String {
    text::indented(text, "       ")
}

/// The exit code of a verdict.
pub(crate) fn verdict_code(verdict: Verdict) -> ExitCode {
    ExitCode::from(verdict.exit_code())
}
