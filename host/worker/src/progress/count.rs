//! Counts tests in a log while it is written, including in an unfinished line.

use plumbline_core::definition::{LogFormat, LogProgress};

use super::counts::Counts;
use super::ginkgo::Ginkgo;
use super::patterns::{PatternError, Patterns};

/// Validates the settings that a worker would otherwise check only when it needs the patterns.
///
/// # Errors
/// Returns [`PatternError`] for the first invalid regular expression.
pub fn check_log_progress(progress: &LogProgress) -> Result<(), PatternError> {
    Counter::new(progress).map(drop)
}

/// Counts tests in the bytes of a log. The counts do not depend on how the bytes are split.
pub(super) enum Counter {
    /// Ginkgo's output.
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

    /// Returns the counts of everything read so far. An unfinished line counts as if it ended here.
    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::Ginkgo(ginkgo) => ginkgo.counts(),
            Self::Patterns(patterns) => patterns.counts(),
        }
    }

    /// Returns the names of failed tests, if the log shows them. If there are many, some are
    /// omitted.
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

    /// Ends an unfinished line, because another file follows.
    pub(super) fn end_line(&mut self) {
        match self {
            Self::Ginkgo(ginkgo) => ginkgo.end_line(),
            Self::Patterns(patterns) => patterns.end_line(),
        }
    }
}
