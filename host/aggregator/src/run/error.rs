//! Errors that end a run: this machine failed, or the run's configuration is invalid.

use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;
use plumbline_core::ledger::ReplayError;
use plumbline_core::run_status::RunStatus;
use plumbline_phonehome::{CaError, TlsConfigError};

use crate::dispatcher::DispatchError;
use crate::journal::JournalError;
use crate::server::ServerError;
use crate::source::PlanError;
use crate::state::ApplyError;
use crate::workdir::WorkDirError;

/// Error while starting, running or finishing a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Error of the working directory.
    #[error(transparent)]
    WorkDir(#[from] WorkDirError),
    /// Error of the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal's events are inconsistent.
    #[error("the run cannot be continued: {0}")]
    Replay(#[from] ReplayError),
    /// The run in the directory is finished. A crash left a part of the directory behind.
    #[error("the run is finished: its archive is `{}`", archive.display())]
    Finished {
        /// Path of the archive.
        archive: PathBuf,
        /// Last status of the run.
        status: Box<RunStatus>,
    },
    /// A part of the run's state is missing, because the directory was partly removed or copied.
    #[error("the run cannot be continued: `{}` is not whole: {missing}", dir.display())]
    NotWhole {
        /// Path of the working directory.
        dir: PathBuf,
        /// The missing part.
        missing: String,
    },
    /// Error of planning.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The recorded definition of a plugin is invalid.
    #[error("the run cannot be continued: the definition of one of its plugins cannot be read: {0}")]
    Definition(String),
    /// The plugins conflict with each other.
    #[error("these plugins cannot run together: {0}")]
    Together(#[source] DefinitionError),
    /// There are no plugins.
    #[error("there is no plugin to run")]
    NoPlugins,
    /// The dispatcher could not list the nodes.
    #[error("failed to list the nodes: {0}")]
    Nodes(#[source] DispatchError),
    /// Error of the server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The CA could not be loaded or stored.
    #[error("failed to keep the run's certificates: {0}")]
    Vault(#[source] DispatchError),
    /// Error of the CA.
    #[error("failed to set up the run's certificates: {0}")]
    Authority(#[from] CaError),
    /// Error of the TLS configuration.
    #[error("failed to set up TLS: {0}")]
    Tls(#[from] TlsConfigError),
    /// Error of the ledger.
    #[error(transparent)]
    Ledger(#[from] ApplyError),
    /// A file operation failed.
    #[error("failed to {what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The underlying I/O error.
        source: std::io::Error,
    },
    /// Error of post-processing.
    #[error(transparent)]
    PostProcess(#[from] crate::postprocess::PostProcessError),
    /// Error of judging.
    #[error(transparent)]
    Judge(#[from] crate::judging::JudgeError),
    /// Error while writing the archive.
    #[error("failed to write the archive: {0}")]
    Archive(#[source] plumbline_archive::pack::PackError),
}

impl RunError {
    /// Returns a hint with the fix, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(error) => error.hint(),
            _ => None,
        }
    }
}
