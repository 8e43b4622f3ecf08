//! Errors while retrieving an archive.

use std::io;
use std::path::PathBuf;

use super::readiness::NotReady;
use crate::error::ClusterError;
use crate::exec::{ExecError, ExecFault};

/// The stage at which retrieval failed. Exit codes depend on it (docs/exit-codes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// There is no archive yet.
    NotReady,
    /// Nothing was transferred, because the pod, its command, or the local directory is unusable.
    SetUp,
    /// The transfer failed, or the result is wrong.
    Transfer,
}

/// Error while retrieving an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// There is no archive yet.
    #[error("there is no archive yet: {0}")]
    NotReady(Box<NotReady>),
    /// A cluster operation failed: finding the aggregator's pod, or executing a command in it.
    #[error("{0}")]
    Cluster(Box<ClusterError>),
    /// The command in the pod failed.
    #[error("`{command}` in the aggregator's pod exited with code {code}: {stderr}")]
    Command {
        /// The command.
        command: String,
        /// Its exit code.
        code: i32,
        /// Its standard error.
        stderr: String,
    },
    /// The aggregator's image does not support the command.
    #[error("the aggregator's image does not know `{0}`")]
    Unknown(String),
    /// The connection was lost too often.
    #[error("archive `{name}` was interrupted after {have} of {size} bytes: {cause}")]
    BrokenOff {
        /// The archive.
        name: String,
        /// Number of bytes received, in the file that the hint names.
        have: u64,
        /// Size of the archive in bytes.
        size: u64,
        /// The last cause.
        cause: String,
        /// The file with the received bytes.
        part: PathBuf,
    },
    /// The received data is not the expected archive.
    #[error("archive `{name}` failed verification: {why}")]
    Wrong {
        /// The archive.
        name: String,
        /// The difference.
        why: String,
        /// The file in which the data is kept, or `None` if it is not kept.
        aside: Option<PathBuf>,
    },
    /// The stream of archives could not be read.
    #[error("the stream of archives cannot be used: {0}")]
    Stream(String),
    /// A local file operation failed.
    #[error("failed to {what} `{path}`: {source}")]
    Local {
        /// The operation: `write`, `read`, and so on.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// Another process is retrieving the same archive to the same path.
    #[error("`{}` is being written by another process", .0.display())]
    Busy(PathBuf),
}

impl RetrieveError {
    /// Returns the stage at which retrieval failed.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::NotReady(_) => Stage::NotReady,
            Self::Cluster(_) | Self::Command { .. } | Self::Unknown(_) | Self::Busy(_) => Stage::SetUp,
            Self::BrokenOff { .. } | Self::Wrong { .. } | Self::Stream(_) | Self::Local { .. } => Stage::Transfer,
        }
    }

    /// Returns how to fix the problem, if known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotReady(not) => Some(not.hint()),
            Self::Cluster(error) => error.hint.clone(),
            Self::Command { .. } => Some(
                "is that where the aggregator keeps its archive? Name another directory with `--retrieve-path`".into(),
            ),
            Self::Unknown(_) => {
                Some("retrieve the archive once the run is complete: that works with every image".into())
            }
            Self::BrokenOff { part, .. } => {
                Some(format!("what arrived is kept in `{}`: the same command goes on from there", part.display()))
            }
            Self::Wrong { aside: Some(path), .. } => {
                Some(format!("what arrived is kept in `{}`; try again", path.display()))
            }
            Self::Wrong { aside: None, .. } | Self::Stream(_) => Some("try again".into()),
            Self::Local { .. } => None,
            Self::Busy(_) => Some("wait for it to end, or choose another directory".into()),
        }
    }

    pub(super) fn local(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Local { what, path, source }
    }

    /// Returns true if the connection was lost, so that a retry may help.
    pub(super) fn is_lost(error: &ExecError) -> bool {
        error.fault == ExecFault::Dropped
    }
}

impl From<ClusterError> for RetrieveError {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(Box::new(error))
    }
}

impl From<ExecError> for RetrieveError {
    fn from(error: ExecError) -> Self {
        Self::Cluster(error.error)
    }
}

impl From<NotReady> for RetrieveError {
    fn from(not: NotReady) -> Self {
        Self::NotReady(Box::new(not))
    }
}
