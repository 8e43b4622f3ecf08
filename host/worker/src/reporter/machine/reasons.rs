//! Reasons of the reporter itself. Those of results are the adapter's own words.

/// The adapter produced no result in time.
pub const TIMEOUT: &str = "AdapterTimeout";
/// The adapter's container ended with an exit code other than 0, and left no result.
pub const EXITED: &str = "AdapterExitedWithError";
/// The adapter's container was ended for its memory, and left no result.
pub const OUT_OF_MEMORY: &str = "AdapterOOMKilled";
/// What the adapter left is no result.
pub const INVALID: &str = "InvalidResultFormat";
/// The adapter's container ended well, and left no result.
pub const MISSING: &str = "AdapterMissingResults";
/// The pod was evicted or preempted before there was a result.
pub const EVICTED: &str = "AdapterEvicted";
/// The node was shut down before there was a result.
pub const NODE_SHUTDOWN: &str = "NodeShutdown";
/// An init container failed, so the adapter was not started.
pub const INIT_FAILED: &str = "AdapterInitFailed";
/// The pod was deleted before there was a result.
pub const DELETED: &str = "PodDeleted";
/// The pod failed for another reason before there was a result.
pub const POD_FAILED: &str = "PodFailed";
/// The reporter was told to end before there was a result.
pub const TERMINATED: &str = "ReporterTerminated";
