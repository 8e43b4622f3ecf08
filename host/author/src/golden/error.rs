//! Errors that stop a test run.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;

/// Error of a test run that could not start. Problems of a single case are in its report instead.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// A file or directory cannot be read.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory has no definition.
    #[error("directory `{0}` has no `plugin.yaml`")]
    NoDefinition(PathBuf),
    /// The definition is invalid.
    #[error("invalid definition `{path}`: {source}")]
    Definition {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: DefinitionError,
    },
    /// The project has no cases.
    #[error("`{0}` has no case: a case is a directory with `results`, `errors`, `nodes.yaml` or `tree.yaml` in it")]
    NoCase(PathBuf),
    /// There is no case with the given name.
    #[error("there is no case `{name}` (there are: {known})")]
    UnknownCase {
        /// The given name.
        name: String,
        /// The names of the existing cases.
        known: String,
    },
    /// The project has too many cases.
    #[error("`{path}` has more than {limit} cases")]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// The maximum number of cases.
        limit: usize,
    },
}

impl GoldenError {
    /// Returns how to fix the problem, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoDefinition(_) => {
                Some("name the directory of a plugin: it holds the definition, and its modules next to it")
            }
            Self::NoCase(_) => Some(
                "put files as the plugin makes them below `tests/NAME/results/global/`, or for judges a result tree into `tests/NAME/tree.yaml`; `plumbline plugin test --bless` writes what is expected",
            ),
            Self::Read { .. } | Self::Definition { .. } | Self::UnknownCase { .. } | Self::TooMany { .. } => None,
        }
    }
}
