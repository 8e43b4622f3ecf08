//! Why a chain cannot be made.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;

/// Why a chain cannot be made of what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// A file cannot be read.
    #[error("failed to read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is larger than any list.
    #[error("`{}` has more than {} MiB, the most that a list may have", path.display(), max >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes that it may have.
        max: usize,
    },
    /// A file is no list.
    #[error("`{}` is not a list, in YAML or JSON: {why}", path.display())]
    NotAList {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a fragment.
        why: String,
    },
    /// An archive has more failures than a baseline.
    #[error("{count} tests failed in `{archive}`: a baseline has at most {max}")]
    TooManyFailures {
        /// The archive.
        archive: String,
        /// How many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// More files for one judge than a definition may name.
    #[error("judge `{judge}` is given {count} files: at most {max} are possible")]
    TooManyFiles {
        /// The judge.
        judge: String,
        /// How many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// More bytes of files than a definition carries.
    #[error("the files of a chain have more than {} MiB together", max >> 20)]
    TooManyBytes {
        /// Bytes that they may have.
        max: usize,
    },
    /// Names of failures that are longer than any test's.
    #[error("the names of what failed in `{archive}` have more than {} MiB", max >> 20)]
    TooLongNames {
        /// The archive.
        archive: String,
        /// Bytes that they may have.
        max: usize,
    },
    /// Files that a judge cannot be given.
    #[error("judge `{judge}` cannot be given the files that it looks at: {source}")]
    Evidence {
        /// The judge.
        judge: String,
        /// What is wrong with them.
        source: Box<DefinitionError>,
    },
    /// More judges than a chain may have.
    #[error("the chain of plugin `{plugin}` would have {count} judges: at most {max} are possible")]
    TooManyJudges {
        /// The plugin.
        plugin: String,
        /// How many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
}
