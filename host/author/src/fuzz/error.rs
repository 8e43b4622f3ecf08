//! Why nothing was tried.

use std::path::PathBuf;

/// Why a module was not tried with damaged inputs, or not to the end.
#[derive(Debug, thiserror::Error)]
pub enum FuzzError {
    /// No case has a file that a post-processor is given.
    #[error("no case has a file that the module reads: there is nothing to damage")]
    NothingToDamage,
    /// A case cannot be run.
    #[error("case `{case}`: {reason}")]
    Case {
        /// The case.
        case: String,
        /// Why.
        reason: String,
    },
    /// The host failed.
    #[error("failed to call the module: {0}")]
    Host(String),
    /// A finding cannot be kept.
    #[error("failed to write `{path}`: {source}")]
    Keep {
        /// Where.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}
