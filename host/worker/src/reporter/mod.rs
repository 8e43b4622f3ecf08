//! The reporter: beside a container of a Job (the adapter), it turns the adapter's result, or its end, into one condition on the Job's status.
//!
//! ```text
//! environment ─▶ Config
//! results directory ─▶ result::read, parse ─▶ FileLook ─┐
//! pod ─▶ watch, else polls ─▶ pod::look ─────▶ PodNews ──┼─▶ Machine ─▶ Outcome ─▶ condition::merge ─▶ Job's status, details, Event
//! SIGTERM, time ─────────────────────────────────────────┘
//! ```
//!
//! * [`Machine`] decides, and is pure: what was seen and the time go in, what to do next comes out.
//! * [`run`] is the edge: it looks, waits, and writes. Nothing that it found out is lost to an API server that is away for a while.
//! * A result in another format than the contract's JSON goes through a [`Processor`] that the caller brings.

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
pub use pod::{AdapterState, Exit, Fate, Naming, PodLook, PodNews, look};
pub use result::{AdapterResult, FormatError, MAX_FILE, Mark, Read, parse, read};
pub use run::{Processor, Reported, run};
