//! What the benchmarks measure with: a cluster that is played, which tests use too, and a large one with a real API server. Either has
//! the aggregator as a process of its own.
#![forbid(unsafe_code)]

mod pod_worker;
pub mod proc;
mod process;
pub mod scale;
pub mod simulation;

pub use process::Kind;

/// An error for whoever runs the benchmarks.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
