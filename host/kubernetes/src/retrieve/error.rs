//! Why an archive was not retrieved.

use std::io;
use std::path::PathBuf;

use super::readiness::NotReady;
use crate::error::ClusterError;
use crate::exec::{ExecError, ExecFault};

/// How far retrieval came: exit codes depend on it (docs/exit-codes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// There is no archive yet.
    NotReady,
    /// Nothing was transferred: the pod, its command, or the directory here cannot be used.
    SetUp,
    /// It broke down on the way, or what arrived is not right.
    Transfer,
}

/// Why an archive was not retrieved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// There is no archive yet.
    #[error("there is no archive yet: {0}")]
    NotReady(Box<NotReady>),
    /// The cluster, the aggregator's pod or the right to execute commands in it.
    #[error("{0}")]
    Cluster(Box<ClusterError>),
    /// The command in the pod failed.
    #[error("`{command}` in the aggregator's pod exited with code {code}: {stderr}")]
    Command {
        /// The command.
        command: String,
        /// Its exit code.
        code: i32,
        /// What it said.
        stderr: String,
    },
    /// The image of the aggregator cannot do this.
    #[error("the aggregator's image does not know `{0}`")]
    Unknown(String),
    /// The connection was lost too often.
    #[error("archive `{name}` was interrupted after {have} of {size} bytes: {cause}")]
    BrokenOff {
        /// The archive.
        name: String,
        /// Bytes that are here, in the file that the hint names.
        have: u64,
        /// Bytes of the whole.
        size: u64,
        /// Why, the last time.
        cause: String,
        /// Where the bytes are.
        part: PathBuf,
    },
    /// What arrived is not what was to arrive.
    #[error("archive `{name}` is not what it should be: {why}")]
    Wrong {
        /// The archive.
        name: String,
        /// What differs.
        why: String,
        /// Where what arrived is kept; `None` when it was not kept.
        aside: Option<PathBuf>,
    },
    /// The stream of archives could not be read.
    #[error("the stream of archives cannot be used: {0}")]
    Stream(String),
    /// A file here.
    #[error("failed to {what} `{path}`: {source}")]
    Local {
        /// `write`, `read`, ...
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process is retrieving the same archive to the same place.
    #[error("`{}` is being written by another process", .0.display())]
    Busy(PathBuf),
}

impl RetrieveError {
    /// How far it came.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::NotReady(_) => Stage::NotReady,
            Self::Cluster(_) | Self::Command { .. } | Self::Unknown(_) | Self::Busy(_) => Stage::SetUp,
            Self::BrokenOff { .. } | Self::Wrong { .. } | Self::Stream(_) | Self::Local { .. } => Stage::Transfer,
        }
    }

    /// What to do.
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

    /// Whether the connection was lost: trying again may help.
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
