//! What can go wrong with a worker as a whole.

use std::io;
use std::path::PathBuf;

pub use plumbline_core::chain;

use plumbline_core::ResultKey;
use plumbline_phonehome::ClientError;

use crate::gather::GatherError;

/// Why a worker ended without having sent a result. The process exits with 1 then (docs/protocol.md, «Life of a worker»).
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Address, certificates or key cannot be used.
    #[error("cannot prepare the connection to the aggregator")]
    Client(#[source] ClientError),
    /// The plugin finished, but what it wants to have sent cannot be gathered.
    #[error("cannot gather the result of {key}")]
    Gather {
        /// The result.
        key: ResultKey,
        /// Why.
        source: GatherError,
    },
    /// The aggregator did not take the result.
    #[error("cannot send `{}` as the result of {key}", path.display())]
    Upload {
        /// The result.
        key: ResultKey,
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<ClientError>,
    },
    /// The worker was told to end while it was packing or sending.
    #[error("asked to stop before the result of {key} was sent")]
    CutOff {
        /// The result.
        key: ResultKey,
    },
    /// The signals of this process cannot be followed.
    #[error("cannot follow signals")]
    Signals(#[source] io::Error),
}

impl WorkerError {
    /// What a person can do, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Client(source) => source.hint(),
            Self::Upload { source, .. } => source.hint(),
            Self::Gather { .. } | Self::CutOff { .. } | Self::Signals(_) => None,
        }
    }
}
