//! Shows the logs of a run's pods to the user.
//!
//! ```text
//! show ───▶ pods of the namespace ─▶ each container's log, one after the other
//! follow ─▶ watch of the pods ─▶ one tail per container ─▶ lines, as they come, until the run is over
//! ```

mod follow;
mod lines;
mod resume;
mod show;
mod tail;

pub use follow::follow;
pub use lines::LogSource;
pub use show::{LogEvent, LogOptions, LogSummary, LogsError, show};
