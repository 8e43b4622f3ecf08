//! Errors of a worker as a whole.

use std::io;
use std::path::PathBuf;

pub use plumbline_core::chain;

use plumbline_core::ResultKey;
use plumbline_phonehome::ClientError;

use crate::gather::GatherError;

/// The reason why a worker ended without sending a result. The process then exits with code 1
/// (docs/protocol.md, "Life of a worker").
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The URL, a certificate or the key is invalid.
    #[error("failed to prepare the connection to the aggregator")]
    Client(#[source] ClientError),
    /// The plugin finished, but its result could not be gathered.
    #[error("failed to gather the result of {key}")]
    Gather {
        /// The result.
        key: ResultKey,
        /// The underlying error.
        source: GatherError,
    },
    /// The aggregator did not accept the result.
    #[error("failed to send `{}` as the result of {key}", path.display())]
    Upload {
        /// The result.
        key: ResultKey,
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: Box<ClientError>,
    },
    /// The worker was asked to stop while it was packing or sending.
    #[error("asked to stop before the result of {key} was sent")]
    CutOff {
        /// The result.
        key: ResultKey,
    },
    /// Signal handling could not be set up.
    #[error("failed to handle signals")]
    Signals(#[source] io::Error),
}

impl WorkerError {
    /// Returns how to fix the problem, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Client(source) => source.hint(),
            Self::Upload { source, .. } => source.hint(),
            Self::Gather { .. } | Self::CutOff { .. } | Self::Signals(_) => None,
        }
    }
}
