//! Errors that stop a fuzz run.

use std::path::PathBuf;

/// Error of a fuzz run that did not start or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum FuzzError {
    /// No case has a file for a post-processor.
    #[error("no case has a file that the module reads: there is nothing to damage")]
    NothingToDamage,
    /// A case cannot be run.
    #[error("case `{case}`: {reason}")]
    Case {
        /// The name of the case.
        case: String,
        /// The cause.
        reason: String,
    },
    /// The host failed.
    #[error("failed to call the module: {0}")]
    Host(String),
    /// A finding cannot be written.
    #[error("failed to write `{path}`: {source}")]
    Keep {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}
