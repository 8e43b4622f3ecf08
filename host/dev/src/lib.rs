//! What tests and benchmarks share: an [API server in memory](ApiDouble), and with the feature
//! `program` a [simulated cluster](simulation) and a [large cluster](scale) with a real API server.
//! Both clusters run the aggregator as a separate process.
//!
//! The program `plumbline-dev` has the benchmarks, and plugins with a chosen outcome.
#![forbid(unsafe_code)]

mod api;
#[cfg(feature = "program")]
mod pod_worker;
pub mod proc;
#[cfg(feature = "program")]
mod process;
#[cfg(feature = "program")]
pub mod scale;
#[cfg(feature = "program")]
pub mod simulation;

pub use api::{ApiDouble, ExecReply, ExecRequest, Fault, FaultKind, Recorded, schema};
#[cfg(feature = "program")]
pub use pod_worker::crawl;
#[cfg(feature = "program")]
pub use process::Kind;

/// A result with an error message for the user of the program.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
