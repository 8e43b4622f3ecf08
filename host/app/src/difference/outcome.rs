//! How a test ended, over all of its attempts.

use plumbline_core::Status;

use super::Test;

/// What the letters of outcomes mean.
pub(crate) const LEGEND: &str = ". passed, F failed, f failed and passed, - did not run, ? other status";

/// How a test ended in a run, over all of its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It passed in every attempt.
    Passed,
    /// It failed or timed out in every attempt.
    Failed,
    /// It failed in an attempt and passed in another.
    Flaky,
    /// It was skipped.
    Skipped,
    /// Its status says neither that it passed nor that it failed.
    Other,
}

impl Outcome {
    /// The outcome of the attempts of a test.
    pub(crate) fn of(attempts: &[Test]) -> Self {
        let one = |test: &Test| match test.status.meaning() {
            _ if test.failed() => Self::Failed,
            Status::Passed => Self::Passed,
            Status::Skipped => Self::Skipped,
            _ => Self::Other,
        };
        attempts.iter().map(one).reduce(Self::with_attempt).unwrap_or(Self::Other)
    }

    /// The outcome together with that of another attempt.
    pub(crate) fn with_attempt(self, other: Self) -> Self {
        match (self.ran(), other.ran()) {
            (true, true) if self == other => self,
            (true, true) => Self::Flaky,
            (true, false) => self,
            (false, true) => other,
            _ if self == Self::Other => self,
            _ => other,
        }
    }

    /// The outcome of two tests that are shown as one, because nothing distinguishes them.
    pub(crate) fn with_test(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Flaky, _) | (_, Self::Flaky) => Self::Flaky,
            _ => self.with_attempt(other),
        }
    }

    /// Whether the test passed or failed.
    pub fn ran(self) -> bool {
        matches!(self, Self::Passed | Self::Failed | Self::Flaky)
    }

    /// The character for the outcome in a strip of runs.
    pub fn letter(self) -> char {
        match self {
            Self::Passed => '.',
            Self::Failed => 'F',
            Self::Flaky => 'f',
            Self::Skipped => '-',
            Self::Other => '?',
        }
    }
}
