//! One run, from its plugins to its archive.

mod begin;
mod drive;
mod error;
mod finish;
mod finished;
mod judge;
mod rerun;
mod space;
mod steer;
mod unsent;

pub use begin::{OnArchived, Run, Settings, StartKind};
pub use error::RunError;
pub use finished::{Finished, PluginOutcome};
