//! The options and progress events of a retrieval.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::names;

/// Selects what to retrieve, and where to write it.
#[derive(Debug, Clone)]
pub struct RetrieveOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// The directory to write to. It is created if necessary.
    pub dir: PathBuf,
    /// The file name for the archive, or `None` for its own name. Further archives get `-01`, `-02`
    /// and so on before the extension.
    pub file_name: Option<String>,
    /// The directory in the aggregator's pod.
    pub remote_dir: String,
    /// Whether to wait for a run that has not finished.
    pub wait: Wait,
    /// The retry policy for lost connections.
    pub retries: Retries,
    /// How long no data may arrive before a connection counts as lost. The default is 60 s.
    pub patience: Duration,
    /// Interval between reads of the status while waiting. The default is 5 s.
    pub look: Duration,
}

impl RetrieveOptions {
    /// Returns options that retrieve the archive of the run in `namespace` into `dir`.
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

    /// Returns the path of file number `at` (from 0) for the archive `own`. The name is its own, or
    /// the given one, with a number from the second file on.
    pub(super) fn target(&self, own: &str, at: usize) -> PathBuf {
        let Some(given) = &self.file_name else { return self.dir.join(own) };
        if at == 0 {
            return self.dir.join(given);
        }
        // The extension of `x.tar.gz` is `.tar.gz`.
        let (stem, extension) = match (given.strip_suffix(".tar.gz"), given.rfind('.')) {
            (Some(stem), _) if !stem.is_empty() => (stem, ".tar.gz"),
            (_, Some(dot)) if dot > 0 => given.split_at(dot),
            _ => (given.as_str(), ""),
        };
        self.dir.join(format!("{stem}-{at:02}{extension}"))
    }
}

/// Whether to wait for a run that has not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Do not wait: an unfinished run is an error.
    No,
    /// Wait at most this long, or without limit for `None`.
    AtMost(Option<Duration>),
}

/// How often a lost connection is retried. A connection that transferred enough data does not
/// count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Maximum number of retries. The default is 5.
    pub times: usize,
    /// The first delay, which doubles each time up to 8 s. The default is 500 ms.
    pub pause: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { times: 5, pause: Duration::from_millis(500) }
    }
}

/// Progress of a retrieval.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The run has not finished. Sent whenever this text changes.
    Waiting(&'a str),
    /// The download of an archive starts.
    Begins {
        /// The name of the archive.
        name: &'a str,
        /// Its size in bytes, or `None` if unknown until the end.
        size: Option<u64>,
        /// Number of bytes from an earlier attempt.
        have: u64,
    },
    /// Total number of bytes of the archive received so far.
    Bytes(u64),
    /// The connection was lost, and is retried after a delay.
    Again {
        /// The cause.
        cause: &'a str,
        /// The number of consecutive failed attempts.
        attempt: usize,
    },
    /// All bytes have arrived and are being verified.
    Verifying,
    /// The aggregator's image does not support pieces, so everything arrives as one stream.
    OneStream,
    /// The archive already exists locally, and is the right one.
    Present(&'a Path),
}

/// The callback for [`Progress`].
pub(super) type Tell<'a> = dyn FnMut(Progress<'_>) + Send + 'a;

/// A retrieved archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Whether size and digest match the run's status.
    pub as_status_says: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_archives_are_numbered() {
        for (given, at, want) in [
            (None, 3, "own.tar.gz"),
            (Some("x.tgz"), 0, "x.tgz"),
            (Some("x.tgz"), 1, "x-01.tgz"),
            (Some("x.tar.gz"), 2, "x-02.tar.gz"),
            (Some("x"), 1, "x-01"),
            (Some(".x"), 1, ".x-01"),
            (Some("x.y.z"), 12, "x.y-12.z"),
        ] {
            let mut options = RetrieveOptions::new("ns", "dir");
            options.file_name = given.map(str::to_owned);
            assert_eq!(options.target("own.tar.gz", at), Path::new("dir").join(want));
        }
    }
}
