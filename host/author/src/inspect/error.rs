//! Errors of an inspection.

use std::path::PathBuf;

use plumbline_sandbox::InspectError;

use crate::golden::GoldenError;

/// Error of an inspection.
#[derive(Debug, thiserror::Error)]
pub enum InspectionError {
    /// A file or directory cannot be read.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is larger than any host accepts.
    #[error("`{path}` is larger than {} MiB: no host takes such a module", limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The file is not a valid module.
    #[error("`{path}` is not a module: {source}")]
    NoModule {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: InspectError,
    },
    /// The file is not valid WebAssembly.
    #[error("`{path}` is broken: {reason}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The bundle has no valid definition.
    #[error(transparent)]
    Definition(#[from] GoldenError),
}
