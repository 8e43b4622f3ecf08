//! How far a plugin is, read from its log, where it does not say so itself (docs/protocol.md, «Progress from a log»).

mod count;
mod log;
mod posted;
mod watch;

pub use count::{PatternError, check_log_progress};
pub(crate) use posted::LastPosted;
pub(crate) use watch::LogWatch;
pub use watch::Silence;
