//! What a person is told when work on a project fails.

use std::fmt;
use std::io;
use std::path::Path;

/// Whose fault it is, which decides the exit code (docs/exit-codes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line, or a file of the project.
    Input,
    /// The machine: a tool that is missing, a disk that is full.
    System,
}

/// Why a piece of work on a project was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorError {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What failed, and in which object.
    pub what: String,
    /// Why, as far as that is known.
    pub cause: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl AuthorError {
    /// A file of the project, or what was asked for, is wrong.
    pub fn input(what: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Input, what: what.into(), cause: None, hint: None }
    }

    /// The machine cannot do it.
    pub fn system(what: impl Into<String>) -> Self {
        Self { kind: ErrorKind::System, what: what.into(), cause: None, hint: None }
    }

    /// Why.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// What to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An operation on a file that failed.
    pub(crate) fn io(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("failed to {what} `{}`", path.display());
        move |error| Self::system(what).because(error)
    }
}

impl fmt::Display for AuthorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.cause.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl std::error::Error for AuthorError {}
