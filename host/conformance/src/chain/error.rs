//! Errors while building a chain.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;

/// Error while building a chain.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// A file is not readable.
    #[error("failed to read `{}`: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A file is too large for a list.
    #[error("`{}` has more than {} MiB, the most that a list may have", path.display(), max >> 20)]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Limit in bytes.
        max: usize,
    },
    /// A file is not a valid list.
    #[error("`{}` is not a list, in YAML or JSON: {why}", path.display())]
    NotAList {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong, as a phrase.
        why: String,
    },
    /// An archive has too many failures for a baseline.
    #[error("{count} tests failed in `{archive}`: a baseline has at most {max}")]
    TooManyFailures {
        /// The archive.
        archive: String,
        /// Number of failures.
        count: usize,
        /// Maximum number of failures.
        max: usize,
    },
    /// A judge has more files than a definition may list.
    #[error("judge `{judge}` is given {count} files: at most {max} are possible")]
    TooManyFiles {
        /// Name of the judge.
        judge: String,
        /// Number of files.
        count: usize,
        /// Maximum number of files.
        max: usize,
    },
    /// The files are too large for a definition.
    #[error("the files of a chain have more than {} MiB together", max >> 20)]
    TooManyBytes {
        /// Limit in bytes.
        max: usize,
    },
    /// The names of the failures are too long.
    #[error("the names of what failed in `{archive}` have more than {} MiB", max >> 20)]
    TooLongNames {
        /// The archive.
        archive: String,
        /// Limit in bytes.
        max: usize,
    },
    /// A judge refers to files that a definition must not use.
    #[error("judge `{judge}` cannot be given the files that it looks at: {source}")]
    Evidence {
        /// Name of the judge.
        judge: String,
        /// What is wrong with the files.
        source: Box<DefinitionError>,
    },
    /// The chain has too many judges.
    #[error("the chain of plugin `{plugin}` would have {count} judges: at most {max} are possible")]
    TooManyJudges {
        /// Name of the plugin.
        plugin: String,
        /// Number of judges.
        count: usize,
        /// Maximum number of judges.
        max: usize,
    },
}
