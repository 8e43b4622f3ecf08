//! The error of every use case: what failed, why, and what to do about it.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

use plumbline_bundle::signing::SigningError;
use plumbline_bundle::{BundleError, CacheError, StoreError, UnpackError};
use plumbline_core::RunFailure;
use plumbline_kubernetes::ClusterError;
use plumbline_registry::RegistryError;

/// The kind of an [`AppError`]: whose fault it is. Callers derive an exit code from it
/// (docs/exit-codes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option or an input file is wrong.
    Usage,
    /// The system failed: a file, a network, a cluster.
    System,
    /// Checks failed, so that the use case did not do what it was asked for.
    Failed,
    /// The reader closed the output, as `head` does, so there is nobody to report the error to.
    OutputClosed,
}

/// A hint for files that cannot be read.
pub(crate) const CHECK_FILE: &str = "check that the file exists and that you can read it";

/// A hint for definitions that cannot be in one run.
pub(crate) const SELECT_OTHERS: &str = "correct the definitions, or select other plugins";

/// An error of a use case, in the parts that a user interface shows: the summary, its causes and a
/// hint with the fix.
#[derive(Debug, Clone)]
pub struct AppError {
    kind: ErrorKind,
    summary: String,
    causes: Vec<String>,
    hint: Option<String>,
    is_temporary: bool,
}

impl AppError {
    /// An error of the caller: an option or an input file is wrong.
    pub fn usage(summary: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, summary)
    }

    /// An error of the system.
    pub fn system(summary: impl Into<String>) -> Self {
        Self::new(ErrorKind::System, summary)
    }

    /// Checks that failed, so that nothing else was done.
    pub fn failed(summary: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, summary)
    }

    fn new(kind: ErrorKind, summary: impl Into<String>) -> Self {
        Self { kind, summary: summary.into(), causes: Vec::new(), hint: None, is_temporary: false }
    }

    /// An error while output was written. If its reader closed it, the kind is
    /// [`ErrorKind::OutputClosed`].
    pub fn printing(summary: impl Into<String>, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => ErrorKind::OutputClosed,
            _ => ErrorKind::System,
        };
        Self::new(kind, summary).because(error)
    }

    /// An error of a cluster.
    #[must_use]
    pub fn cluster(error: &ClusterError) -> Self {
        let mut failed = Self::system(format!("failed to {}", error.what));
        failed.causes.push(error.cause.clone());
        failed.hint.clone_from(&error.hint);
        failed
    }

    /// Adds `error` and its sources as causes. A source whose text the error before it contains is
    /// left out.
    #[must_use]
    pub fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            if !self.causes.last().is_some_and(|cause| cause.contains(&text)) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Makes an error of the input one of the system, because a part of the input is already in the
    /// output.
    #[must_use]
    pub(crate) fn into_system(self) -> Self {
        let kind = if self.is_usage() { ErrorKind::System } else { self.kind };
        Self { kind, ..self }
    }

    /// Sets whether the cause may pass by itself, so that another attempt may help.
    #[must_use]
    pub(crate) fn temporary_if(self, is_temporary: bool) -> Self {
        Self { is_temporary, ..self }
    }

    /// Sets the hint: what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the hint, if there is one.
    #[must_use]
    pub fn hint_if(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Adds a cause that is not the text of an error.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Adds a line to the hint.
    #[must_use]
    pub fn hint_more(mut self, hint: &str) -> Self {
        self.hint = Some(match self.hint {
            Some(earlier) => format!("{earlier}\n{hint}"),
            None => hint.to_owned(),
        });
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether an option or an input is wrong, rather than the system.
    pub fn is_usage(&self) -> bool {
        self.kind == ErrorKind::Usage
    }

    /// Whether the cause is known to pass by itself, so that another attempt may help.
    pub(crate) fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// What failed, and on what.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Why it failed, the direct cause first. A cause may have several lines.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// What the user can do. Parts of the hint are separated by `; ` and line breaks; a part may
    /// name an option of the command line.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The error as the failure of a run, for its status.
    pub fn failure(&self) -> RunFailure {
        RunFailure::new(&self.to_string(), self.hint.as_deref())
    }
}

/// Makes an [`AppError`] of the error in a result. Summaries and hints are formatted only if there
/// is an error, so they can be `format_args!`.
pub trait Explain<T, E>: Into<Result<T, E>> {
    /// Makes it an error of the caller with the summary `what`: an option or an input file is wrong.
    fn usage_error(self, what: impl Display) -> Result<T, AppError>
    where
        E: Error,
    {
        let result: Result<T, E> = self.into();
        result.map_err(|error| AppError::usage(what.to_string()).because(&error))
    }

    /// Makes it an error of the system with the summary `what`.
    fn system_error(self, what: impl Display) -> Result<T, AppError>
    where
        E: Error,
    {
        let result: Result<T, E> = self.into();
        result.map_err(|error| AppError::system(what.to_string()).because(&error))
    }

    /// Sets the hint of the error: what the user can do.
    fn hint(self, hint: impl Display) -> Result<T, AppError>
    where
        E: Into<AppError>,
    {
        let result: Result<T, E> = self.into();
        result.map_err(|error| Into::<AppError>::into(error).hint(hint.to_string()))
    }
}

impl<T, E> Explain<T, E> for Result<T, E> {}

/// Writes the summary and its causes on one line, without the hint.
impl Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)?;
        for cause in &self.causes {
            write!(f, ": {}", cause.trim_end().replace('\n', "; "))?;
        }
        Ok(())
    }
}

impl Error for AppError {}

impl From<ClusterError> for AppError {
    fn from(error: ClusterError) -> Self {
        Self::cluster(&error)
    }
}

impl From<RegistryError> for AppError {
    fn from(error: RegistryError) -> Self {
        let what = format!("failed to {}", error.what);
        app_error(what, error.cause.as_ref(), !error.is_usage(), error.hint())
    }
}

/// An error while a file of keys, signatures or rules is written is one of the system, every other
/// one of the caller.
impl From<SigningError> for AppError {
    fn from(error: SigningError) -> Self {
        let what = error.to_string();
        let failed = if error.is_systems() { Self::system(what) } else { Self::usage(what) };
        let failed = match error.source() {
            Some(source) => failed.because(source),
            None => failed,
        };
        match error {
            SigningError::Exists(_) => failed.hint("choose another name, or replace it with `--force`"),
            _ => failed,
        }
    }
}

#[cfg(test)]
impl AppError {
    pub(crate) fn in_full(&self) -> String {
        let mut text = format!("error: {}\n", self.summary);
        self.causes.iter().for_each(|cause| text.push_str(&format!("cause: {cause}\n")));
        self.hint.iter().for_each(|hint| text.push_str(&format!("hint:  {hint}\n")));
        text
    }
}

/// The names in backticks, separated by commas, for messages.
pub(crate) fn quoted(names: impl IntoIterator<Item = impl Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// An error of a bundle. `what` says what failed.
pub fn bundle_error(what: impl Into<String>, error: &BundleError) -> AppError {
    app_error(what.into(), error, error.is_systems(), error.hint().map(str::to_owned))
}

/// An error of the installed bundles. `what` says what failed.
pub fn store_error(what: impl Into<String>, error: &StoreError) -> AppError {
    app_error(what.into(), error, error.is_systems(), error.hint())
}

/// The hint of errors that writing to the cache causes.
const UNWRITABLE_CACHE: &str =
    "check permissions and free space there, or set `XDG_CACHE_HOME` to a directory that you can write to";

/// An error of a packed bundle. `what` says what failed.
pub fn cache_error(what: impl Into<String>, error: &CacheError) -> AppError {
    let (system, hint) = match error {
        CacheError::Unpack(UnpackError::Write { .. }) => (true, Some(UNWRITABLE_CACHE)),
        CacheError::Unpack(error) => (error.is_systems(), error.hint()),
        CacheError::Bundle(error) => (error.is_systems(), error.hint()),
        CacheError::NoHome => (true, Some("set `XDG_CACHE_HOME` to an absolute path")),
        CacheError::Io { .. } => (true, Some(UNWRITABLE_CACHE)),
        _ => (true, None),
    };
    app_error(what.into(), error, system, hint.map(str::to_owned))
}

fn app_error(what: String, error: &dyn Error, system: bool, hint: Option<String>) -> AppError {
    let failed = if system { AppError::system(what) } else { AppError::usage(what) };
    failed.because(error).hint_if(hint)
}
