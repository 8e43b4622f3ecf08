//! Why results cannot be post-processed.

use std::io;

/// Why there is no tree: this machine failed. Faults of results and modules become items of the tree.
#[derive(Debug, thiserror::Error)]
pub enum PostProcessError {
    /// Reading results or writing the tree failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The cause.
        source: io::Error,
    },
    /// A default pattern of the module is not a glob.
    #[error("module `{module}` has a default pattern that is not a glob: {source}")]
    Pattern {
        /// The module.
        module: String,
        /// The cause.
        source: globset::Error,
    },
}
