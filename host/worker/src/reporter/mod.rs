//! The reporter, a sidecar for a container of a Job (the adapter). It turns the adapter's result,
//! or its end, into one condition on the Job's status.
//!
//! ```text
//! environment ─▶ Config
//! results directory ─▶ result::read, parse ─▶ FileLook ─┐
//! pod ─▶ watch, else polls ─▶ pod::look ─────▶ PodNews ──┼─▶ Machine ─▶ Outcome ─▶ condition::merge ─▶ Job's status, details, Event
//! SIGTERM, time ─────────────────────────────────────────┘
//! ```
//!
//! * [`Machine`] decides, and is pure: its input is observations and the time, and its output is
//!   the next step.
//! * [`run`] does the I/O: it observes, waits and writes. If the API server is unavailable for a
//!   while, no observation is lost.
//! * A result in a format other than the contract's JSON is parsed by a [`Processor`] that the
//!   caller provides.

mod access;
mod condition;
mod config;
mod details;
mod duration;
mod event;
mod file_watch;
mod machine;
mod pace;
mod pod;
mod pod_watch;
mod result;
mod retry;
mod run;
mod text;
mod write;

pub use access::Access;
pub use condition::{Condition, merge};
pub use config::{Config, ConfigError, DetailsTo, LogLevel};
pub use duration::go_duration;
pub use machine::{Event, FileLook, Machine, Next, Outcome, Rules, reasons};
pub use pace::Pace;
pub use pod::{AdapterState, Disruption, Exit, Naming, PodLook, PodNews, look};
pub use result::{AdapterResult, FormatError, MAX_FILE, Mark, Read, parse, read};
pub use run::{Processor, Reported, run};
