//! What ends a run that is no result: this machine failed, or the run cannot be what it was asked to be.

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

/// Why a run cannot begin, go on or be finished.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The working directory.
    #[error(transparent)]
    WorkDir(#[from] WorkDirError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal's events do not follow from each other.
    #[error("the run cannot be continued: {0}")]
    Replay(#[from] ReplayError),
    /// The run in the directory is finished: only what a crash kept from being removed is left.
    #[error("the run is finished: its archive is `{}`", archive.display())]
    Finished {
        /// Its archive.
        archive: PathBuf,
        /// Its last status.
        status: Box<RunStatus>,
    },
    /// The directory lacks something that the run had: it was removed in part, or copied in part.
    #[error("the run cannot be continued: `{}` is not whole: {missing}", dir.display())]
    NotWhole {
        /// The working directory.
        dir: PathBuf,
        /// What is missing.
        missing: String,
    },
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The definition of a run that goes on.
    #[error("the run cannot be continued: the definition of one of its plugins cannot be read: {0}")]
    Definition(String),
    /// The plugins do not go together.
    #[error("these plugins cannot run together: {0}")]
    Together(#[source] DefinitionError),
    /// No plugin was named.
    #[error("there is no plugin to run")]
    NoPlugins,
    /// Where plugins are to be executed.
    #[error("failed to list the nodes: {0}")]
    Nodes(#[source] DispatchError),
    /// The server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Where the authority is kept.
    #[error("failed to keep the run's certificates: {0}")]
    Vault(#[source] DispatchError),
    /// The authority.
    #[error("failed to set up the run's certificates: {0}")]
    Authority(#[from] CaError),
    /// TLS.
    #[error("failed to set up TLS: {0}")]
    Tls(#[from] TlsConfigError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] ApplyError),
    /// A file of the run.
    #[error("failed to {what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Post-processing.
    #[error(transparent)]
    PostProcess(#[from] crate::postprocess::PostProcessError),
    /// Judging.
    #[error(transparent)]
    Judge(#[from] crate::judging::JudgeError),
    /// The archive.
    #[error("failed to write the archive: {0}")]
    Archive(#[source] plumbline_archive::pack::PackError),
}

impl RunError {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(error) => error.hint(),
            _ => None,
        }
    }
}
