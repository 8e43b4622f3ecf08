//! Errors of a worker.

use std::io;
use std::path::PathBuf;

pub use plumbline_core::chain;

use plumbline_archive::pack::PackError;
use plumbline_core::ResultKey;
use plumbline_phonehome::ClientError;

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
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Client(source) => source.hint(),
            Self::Upload { source, .. } => source.hint(),
            Self::Gather { source, .. } => source.hint(),
            Self::CutOff { .. } | Self::Signals(_) => None,
        }
    }
}

/// Error while gathering the result of a finished plugin: its done file is unusable, names
/// something unusable, or its directory cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The done file could not be read.
    #[error("failed to read the done file `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The done file has this type. Links are not followed, because the plugin may lack access to
    /// their target.
    #[error("the done file `{}` is a {kind}, not a regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// The actual type.
        kind: &'static str,
    },
    /// The done file is larger than a path can be.
    #[error("the done file `{}` has more than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The done file is not UTF-8 text.
    #[error("the done file `{}` does not hold a path: it is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// The done file stays empty.
    #[error("the done file `{}` is empty", .0.display())]
    Empty(PathBuf),
    /// The results directory was removed, and did not come back.
    #[error("the results directory `{}` was removed, so the plugin can have no result", .0.display())]
    Gone(PathBuf),
    /// The path in the done file does not exist.
    #[error("the done file names `{named}`, which does not exist in `{}`", results_dir.display())]
    Missing {
        /// The path as written.
        named: String,
        /// The actual results directory.
        results_dir: PathBuf,
    },
    /// The path leads out of the results directory: directly, through `..`, or through a link.
    #[error("the done file names `{named}`, which is outside of the results directory `{}`", results_dir.display())]
    Outside {
        /// The path as written.
        named: String,
        /// The actual results directory.
        results_dir: PathBuf,
    },
    /// The path is the done file itself.
    #[error("the done file names itself (`{0}`)")]
    Itself(String),
    /// The path is neither a file nor a directory.
    #[error("the done file names `{named}`, which is a {kind}")]
    NotSendable {
        /// The path as written.
        named: String,
        /// The actual type.
        kind: &'static str,
    },
    /// The path could not be accessed.
    #[error("the done file names `{0}`, which cannot be read")]
    Io(String, #[source] io::Error),
    /// A file could not be read, or the archive is too large.
    #[error("failed to pack the directory `{}`", .0.display())]
    Pack(PathBuf, #[source] PackError),
    /// The archive of the directory could not be written.
    #[error("failed to write the archive `{}`", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

impl GatherError {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAFile { .. } | Self::TooLarge { .. } | Self::NotText(_) | Self::Empty(_) | Self::Itself(_) => {
                Some("write the path of the results into the file `$SONOBUOY_RESULTS_DIR/done`, and nothing else")
            }
            Self::Missing { .. } | Self::Outside { .. } => {
                Some("write a path below the results directory, which the plugin and its worker share")
            }
            Self::NotSendable { .. } => Some("write the results into a regular file or a directory"),
            Self::Read(..) | Self::Gone(_) | Self::Io(..) | Self::Pack(..) | Self::Write(..) => None,
        }
    }

    /// Returns the error with its causes and its hint, as the result of the plugin shows it.
    pub(crate) fn explained(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{}: {hint}", chain(self)),
            None => chain(self),
        }
    }
}
