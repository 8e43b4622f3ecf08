//! Tests, counted.

/// The counts of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Tests that will run, or have run; 0 if unknown.
    pub(super) total: u64,
    /// Tests that ended, whether they passed or failed.
    pub(super) ended: u64,
    /// Tests that failed.
    pub(super) failed: u64,
    /// Whether the log has printed its own final counts, which these are.
    pub(super) finished: bool,
}
