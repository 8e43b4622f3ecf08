//! Numbers of tests.

/// The numbers of tests in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Number of tests that will run or have run, or 0 if unknown.
    pub(super) total: u64,
    /// Number of tests that ended, whether they passed or failed.
    pub(super) ended: u64,
    /// Number of tests that failed.
    pub(super) failed: u64,
    /// Whether these are the final counts that the log printed itself.
    pub(super) finished: bool,
}
