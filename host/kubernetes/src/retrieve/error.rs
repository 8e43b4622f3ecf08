//! Errors while retrieving an archive.

use std::io;
use std::path::PathBuf;

use plumbline_core::RunFailure;

use crate::error::ClusterError;
use crate::exec::ExecError;

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
    #[error("no archive yet: {0}")]
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
    #[error("the aggregator's image does not support `{0}`")]
    Unknown(String),
    /// The connection was lost too often.
    #[error("the download of archive `{name}` was interrupted after {have} of {size} bytes: {cause}")]
    Interrupted {
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
    #[error("invalid stream of archives: {0}")]
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
    #[error("another process is writing `{}`", .0.display())]
    Busy(PathBuf),
}

impl RetrieveError {
    /// Returns the stage at which retrieval failed.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::NotReady(_) => Stage::NotReady,
            Self::Cluster(_) | Self::Command { .. } | Self::Unknown(_) | Self::Busy(_) => Stage::SetUp,
            Self::Interrupted { .. } | Self::Wrong { .. } | Self::Stream(_) | Self::Local { .. } => Stage::Transfer,
        }
    }

    /// Returns how to fix the problem, if known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotReady(not) => Some(not.hint()),
            Self::Cluster(error) => error.hint.clone(),
            Self::Command { .. } => {
                Some("check that this is the aggregator's directory, or pass another with `--retrieve-path`".into())
            }
            Self::Unknown(_) => {
                Some("retrieve the archive once the run is complete: that works with every image".into())
            }
            Self::Interrupted { part, .. } => Some(format!(
                "the partial download is kept in `{}`: to resume, run the same command again",
                part.display()
            )),
            Self::Wrong { aside: Some(path), .. } => {
                Some(format!("the partial download is kept in `{}`; try again", path.display()))
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

/// Why there is no archive yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReady {
    /// The aggregator's pod has not started, with its phase and the reason.
    #[error("the aggregator's pod has not started: {0}")]
    Starting(String),
    /// The aggregator has not written a status yet.
    #[error("the aggregator has not published its status yet")]
    NoStatus,
    /// The status cannot be parsed.
    #[error("failed to read the aggregator's status: {0}")]
    Damaged(String),
    /// Results are missing, as this sentence says.
    #[error("{0}")]
    Running(String),
    /// Results are being post-processed and packed.
    #[error("all results are received, and the aggregator packs them now")]
    PostProcessing,
    /// The run failed, with the reason if the aggregator reported one.
    #[error("the run failed{}", .0.as_ref().map(|failure| format!(": {}", failure.reason)).unwrap_or_default())]
    Failed(Option<RunFailure>),
    /// The run is complete, but this directory of the pod has no archive.
    #[error("the run is complete, but `{0}` in the aggregator's pod has no finished archive")]
    NoArchive(String),
}

impl NotReady {
    pub(super) fn may_change(&self) -> bool {
        !matches!(self, Self::Failed(_) | Self::NoArchive(_))
    }

    pub(super) fn hint(&self) -> String {
        match self {
            Self::Failed(failure) => {
                let failure_hint = failure.as_ref().and_then(|failure| failure.hint.as_deref());
                let own = failure_hint.map(|hint| format!("{hint}\n")).unwrap_or_default();
                let more = if failure.is_some() { "more" } else { "why" };
                format!("{own}see {more} with `plumbline logs`; download the results so far with `--partial`")
            }
            Self::NoArchive(_) => "if the archive is in another directory, pass it with `--retrieve-path`".into(),
            Self::Running { .. } => "wait for it with `--wait`, or download the results so far with `--partial`".into(),
            _ => "wait for it with `--wait`".into(),
        }
    }
}
