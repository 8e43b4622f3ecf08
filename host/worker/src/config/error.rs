//! Errors in a worker's configuration. All of them are reported at once.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::key::Key;

/// Error in a worker's configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("failed to read the worker's configuration file `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The file is larger than [`MAX_CONFIG_BYTES`](super::MAX_CONFIG_BYTES).
    #[error("the worker's configuration file `{}` has more than {limit} bytes: is it the right file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file does not contain a JSON object.
    #[error("the worker's configuration file `{}` is not a JSON object", path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// The parse error, or `None` if it is valid JSON but not an object.
        source: Option<serde_json::Error>,
    },
    /// Values are missing or invalid.
    #[error("invalid configuration of the worker: {}", List(problems))]
    Invalid {
        /// Every problem found, missing values first.
        problems: Vec<Problem>,
        /// Whether the environment has the URL under its old name only.
        old_name_set: bool,
    },
}

impl ConfigError {
    /// Returns how to fix the problem, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { old_name_set: true, .. } => {
                Some("`MASTER_URL` is set, but that name is no longer read: set `AGGREGATOR_URL`")
            }
            Self::Invalid { problems, .. } if problems.iter().any(|p| matches!(p, Problem::Missing(_))) => Some(
                "the aggregator sets these variables in the containers that it creates; elsewhere, set them or name a file with `--config`",
            ),
            _ => None,
        }
    }
}

/// A problem with one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A required value is missing or empty.
    Missing(Key),
    /// A value is invalid.
    Wrong {
        /// The key of the value.
        key: Key,
        /// The source of the value: a variable, or a key of the file.
        from: String,
        /// The reason. It never contains a secret.
        why: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(key) => {
                let [name, ..] = key.variables() else { return Ok(()) };
                write!(f, "`{name}`")?;
                if let Some(file_key) = key.file_key() {
                    write!(f, " (in the file: `{file_key}`)")?;
                }
                f.write_str(" is not set")
            }
            Self::Wrong { from, why, .. } => write!(f, "{from}: {why}"),
        }
    }
}

struct List<'a>(&'a [Problem]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
