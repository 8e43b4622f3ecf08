//! Shows the logs of a run's pods to the user.
//!
//! ```text
//! show ───▶ pods of the namespace ─▶ each container's log, one after the other
//! follow ─▶ watch of the pods ─▶ one tail per container ─▶ lines, as they come, until the run is over
//! ```

mod event;
mod follow;
mod lines;
mod pods;
mod resume;
mod show;
mod tail;

pub use event::{LogEvent, LogOptions, LogSource, LogSummary, LogsError};
pub use follow::follow;
pub use show::show;
