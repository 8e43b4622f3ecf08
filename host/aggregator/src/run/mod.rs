//! One run, from its plugins to its archive.

mod begin;
mod blocking;
mod drive;
mod finish;
mod pack;
mod patience;
mod process;
mod settings;
mod steer;
mod traces;

pub use begin::Run;
pub use patience::{OnDelay, StartPatience};
pub use settings::{
    ArchivedRun, Finished, OnArchived, PluginOutcome, RunError, Settings, StartKind, TelemetrySettings,
};
