//! Errors of post-processing.

use std::io;

/// Error of this machine, so that there is no tree. Errors in results and modules become items of
/// the tree instead.
#[derive(Debug, thiserror::Error)]
pub enum PostProcessError {
    /// Reading results or writing the tree failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A default pattern of the module is not a glob.
    #[error("module `{module}` has a default pattern that is not a glob: {source}")]
    Pattern {
        /// Name of the module.
        module: String,
        /// The underlying error.
        source: globset::Error,
    },
}
