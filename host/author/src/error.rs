//! The error type of all work on a project.

use std::fmt;
use std::io;
use std::path::Path;

/// Whose fault an error is, which decides the exit code (docs/exit-codes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The fault is in the command line or in a file of the project.
    Input,
    /// The fault is in the machine: a missing tool, a full disk.
    System,
}

/// Error of an operation on a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorError {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What failed, and on which object.
    pub what: String,
    /// The cause, if it is known.
    pub cause: Option<String>,
    /// How to fix it.
    pub hint: Option<String>,
}

impl AuthorError {
    /// Creates an error in the command line or in a file of the project.
    pub fn input(what: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Input, what: what.into(), cause: None, hint: None }
    }

    /// Creates an error of the machine.
    pub fn system(what: impl Into<String>) -> Self {
        Self { kind: ErrorKind::System, ..Self::input(what) }
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<&str>) -> Self {
        self.hint = hint.map(str::to_owned);
        self
    }

    pub(crate) fn io(what: &str, path: &Path) -> impl Fn(io::Error) -> Self {
        let what = format!("failed to {what} `{}`", path.display());
        move |error| Self::system(&what).because(error)
    }

    /// Creates an error of a file of the author that cannot be read.
    pub(crate) fn unreadable(path: &Path) -> impl Fn(io::Error) -> Self {
        let what = format!("failed to read `{}`", path.display());
        move |error| Self::input(&what).because(error)
    }
}

impl fmt::Display for AuthorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.cause.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl std::error::Error for AuthorError {}
