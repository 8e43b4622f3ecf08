//! What can go wrong.

use std::io;
use std::path::PathBuf;

/// Why nothing could be generated, compared or written.
#[derive(Debug, thiserror::Error)]
pub enum BindingsError {
    /// A file or directory cannot be read or written.
    #[error("{action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// There is no WIT in the directory.
    #[error("find WIT in `{}`: no file there ends in `.wit`", .0.display())]
    NoWit(PathBuf),
    /// The files are no WIT package.
    #[error("parse the WIT of `{}`: {cause}", path.display())]
    Wit {
        /// The directory, or a name for the text.
        path: PathBuf,
        /// What the parser says, with line and column.
        cause: String,
    },
    /// A generator cannot do its work.
    #[error("generate {what}: {cause}")]
    Generator {
        /// What it makes, such as `the bindings for C`.
        what: &'static str,
        /// Why.
        cause: String,
    },
    /// Two generators make the same file.
    #[error("generate `{}`: two generators make it", .0.display())]
    Twice(PathBuf),
}

impl BindingsError {
    /// For `map_err` of what reads and writes.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
