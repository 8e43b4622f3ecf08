//! The error type.

use std::io;
use std::path::PathBuf;

/// Error of generating, comparing or writing files.
#[derive(Debug, thiserror::Error)]
pub enum BindingsError {
    /// A file or directory cannot be read or written.
    #[error("{action} `{}`: {source}", path.display())]
    Io {
        /// The attempted action, such as `read`.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory has no WIT files.
    #[error("find WIT in `{}`: no file there ends in `.wit`", .0.display())]
    NoWit(PathBuf),
    /// The files are not a valid WIT package.
    #[error("parse the WIT of `{}`: {cause}", path.display())]
    Wit {
        /// The directory, or a name for the text.
        path: PathBuf,
        /// The parser's message, with line and column.
        cause: String,
    },
    /// A generator failed.
    #[error("generate {what}: {cause}")]
    Generator {
        /// The output of the generator, such as `the bindings for C`.
        what: &'static str,
        /// The cause.
        cause: String,
    },
    /// Two generators write the same file.
    #[error("generate `{}`: two generators make it", .0.display())]
    Twice(PathBuf),
}

impl BindingsError {
    /// Returns a function for `map_err` of file operations.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
