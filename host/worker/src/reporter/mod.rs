//! The reporter, a sidecar for a container of a Job (the adapter). It turns the adapter's result,
//! or its end, into one condition on the Job's status.
//!
//! ```text
//! environment ─▶ Config
//! results directory ─▶ result::read, parse ─▶ FileLook ─┐
//! pod ─▶ watch, else polls ─▶ pod::look ─────▶ PodNews ──┼─▶ Machine ─▶ Outcome ─▶ conditions ─▶ Job's status, details, Event
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
mod config;
mod file_watch;
mod machine;
mod pod;
mod pod_watch;
mod result;
mod run;
mod write;

pub use access::Access;
pub use config::{Config, ConfigError, DetailsTo, Pace};
pub use machine::{Event, FileLook, Machine, Next, Rules, reasons};
pub use pod::{AdapterState, Disruption, Exit, PodLook, PodNews};
pub use result::{Mark, Outcome};
pub use run::{Processor, Reported, run};
