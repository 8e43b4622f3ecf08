//! Why no case was run.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;

/// Why no case was run. What is wrong with one case is said in its report.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// Something cannot be read or listed.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// What.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A directory without a definition.
    #[error("directory `{0}` has no `plugin.yaml`")]
    NoDefinition(PathBuf),
    /// A definition that cannot be used.
    #[error("invalid definition `{path}`: {source}")]
    Definition {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: DefinitionError,
    },
    /// There is nothing to run.
    #[error("`{0}` has no case: a case is a directory with `results`, `errors`, `nodes.yaml` or `tree.yaml` in it")]
    NoCase(PathBuf),
    /// A case that was named is not there.
    #[error("there is no case `{name}` (there are: {known})")]
    UnknownCase {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// More cases than anybody looks at.
    #[error("`{path}` has more than {limit} cases")]
    TooMany {
        /// Where.
        path: PathBuf,
        /// How many are run.
        limit: usize,
    },
}

impl GoldenError {
    /// What to do.
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
