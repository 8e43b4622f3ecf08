//! Counts tests in a log as it is written, including in a line that has not ended yet.

use plumbline_core::definition::{LogFormat, LogProgress};

use super::counts::Counts;
use super::ginkgo::Ginkgo;
use super::patterns::{PatternError, Patterns};

/// Checks what a worker would find out only when it needs the patterns.
///
/// # Errors
/// [`PatternError`] for the first pattern that is not a usable regular expression.
pub fn check_log_progress(progress: &LogProgress) -> Result<(), PatternError> {
    Counter::new(progress).map(drop)
}

/// Counts in the bytes of a log. However the bytes are split into pieces, the counts are the same.
pub(super) enum Counter {
    /// What Ginkgo prints.
    Ginkgo(Box<Ginkgo>),
    /// Matches of regular expressions.
    Patterns(Box<Patterns>),
}

impl Counter {
    pub(super) fn new(progress: &LogProgress) -> Result<Self, PatternError> {
        Ok(match &progress.format {
            LogFormat::Ginkgo => Self::Ginkgo(Box::default()),
            LogFormat::Patterns(patterns) => Self::Patterns(Box::new(Patterns::new(patterns)?)),
        })
    }

    /// The counts of everything read so far. An unfinished line counts as if it ended here.
    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::Ginkgo(ginkgo) => ginkgo.counts(),
            Self::Patterns(patterns) => patterns.counts(),
        }
    }

    /// The names of failed tests, if the log shows them: not all of them, if there are many.
    pub(super) fn failures(&self) -> &[String] {
        match self {
            Self::Ginkgo(ginkgo) => ginkgo.failures(),
            Self::Patterns(_) => &[],
        }
    }

    /// Reads the next bytes of the log.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        match self {
            Self::Ginkgo(ginkgo) => ginkgo.read(bytes),
            Self::Patterns(patterns) => patterns.read(bytes),
        }
    }

    /// Ends an unfinished line: what follows is another file.
    pub(super) fn end_line(&mut self) {
        match self {
            Self::Ginkgo(ginkgo) => ginkgo.end_line(),
            Self::Patterns(patterns) => patterns.end_line(),
        }
    }
}
