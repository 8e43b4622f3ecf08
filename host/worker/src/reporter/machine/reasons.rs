//! Reasons of the reporter itself. Those of results come from the adapter.

/// The adapter produced no result in time.
pub const TIMEOUT: &str = "AdapterTimeout";
/// The adapter's container ended with a nonzero exit code and without a result.
pub const EXITED: &str = "AdapterExitedWithError";
/// The adapter's container was killed because of its memory use, and left no result.
pub const OUT_OF_MEMORY: &str = "AdapterOOMKilled";
/// The adapter's file is not a valid result.
pub const INVALID: &str = "InvalidResultFormat";
/// The adapter's container ended successfully, but without a result.
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
/// The reporter was asked to stop before there was a result.
pub const TERMINATED: &str = "ReporterTerminated";
