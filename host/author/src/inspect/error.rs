//! Why something cannot be inspected.

use std::path::PathBuf;

use plumbline_sandbox::InspectError;

use crate::golden::GoldenError;

/// Why something cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectionError {
    /// A file or directory cannot be read.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// More than any host takes.
    #[error("`{path}` is larger than {} MiB: no host takes such a module", limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes that are looked at.
        limit: u64,
    },
    /// It is no module, or broken.
    #[error("`{path}` is not a module: {source}")]
    NoModule {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: InspectError,
    },
    /// It is no WebAssembly all through.
    #[error("`{path}` is broken: {reason}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A bundle without a definition that can be used.
    #[error(transparent)]
    Definition(#[from] GoldenError),
}
