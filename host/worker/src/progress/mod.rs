//! Counts a plugin's progress in its log (docs/protocol.md, "Progress from a log").

mod ginkgo;
mod log;
mod patterns;
mod posts;
mod watch;

pub use log::check_log_progress;
pub use patterns::PatternError;
pub(crate) use posts::{Posted, PostedUpdates};
pub(crate) use watch::LogWatch;
