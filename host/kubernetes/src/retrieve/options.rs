//! What is to be retrieved, and what is told on the way.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::names;

/// What is to be retrieved, and to where.
#[derive(Debug, Clone)]
pub struct RetrieveOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// The directory to write to. Made if it is not there.
    pub dir: PathBuf,
    /// The file name to give the archive; further archives get `-01`, `-02`, ... before the extension. `None`: the archive's own.
    pub file_name: Option<String>,
    /// The directory in the aggregator's pod.
    pub remote_dir: String,
    /// Whether to wait for a run that has not ended.
    pub wait: Wait,
    /// How often a lost connection is made anew.
    pub retries: Retries,
    /// How long nothing may come before a connection counts as lost. Default 60 s.
    pub patience: Duration,
    /// Between two looks at the status while waiting. Default 5 s.
    pub look: Duration,
}

impl RetrieveOptions {
    /// The archive of the run in `namespace`, into `dir`.
    pub fn new(namespace: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            namespace: namespace.into(),
            dir: dir.into(),
            file_name: None,
            remote_dir: names::AGGREGATOR_DIR.to_owned(),
            wait: Wait::No,
            retries: Retries::default(),
            patience: Duration::from_secs(60),
            look: Duration::from_secs(5),
        }
    }
}

/// Whether to wait for a run that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// No: it is an error.
    No,
    /// At most so long; `None` for as long as it takes.
    AtMost(Option<Duration>),
}

/// How often a lost connection is made anew before giving up. A connection that brought something worth while does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How often. Default 5.
    pub times: usize,
    /// The first pause, doubled each time up to 8 s. Default 500 ms.
    pub pause: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { times: 5, pause: Duration::from_millis(500) }
    }
}

/// What happens on the way.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The run has not ended; told whenever that changes.
    Waiting(&'a str),
    /// An archive begins: how many bytes there are, and how many of them are here from an earlier attempt.
    Begins {
        /// Its name.
        name: &'a str,
        /// Bytes; `None` where that is not known before the end.
        size: Option<u64>,
        /// Bytes that are here already.
        have: u64,
    },
    /// So many bytes of it are here.
    Bytes(u64),
    /// The connection was lost, and is made anew after a pause.
    Again {
        /// Why.
        cause: &'a str,
        /// The number of this attempt without success.
        attempt: usize,
    },
    /// All bytes are here and are being verified.
    Verifying,
    /// The image of the aggregator does not know pieces: everything comes as one stream.
    OneStream,
    /// The archive was here already, and is the right one.
    Present(&'a Path),
}

/// The callback for [`Progress`].
pub(super) type Tell<'a> = dyn FnMut(Progress<'_>) + Send + 'a;

/// An archive that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Whether size and digest are those that the run's status names.
    pub as_status_says: bool,
}
