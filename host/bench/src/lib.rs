//! Measurements that benchmarks and tests share: a [simulated cluster](simulation), and a [large
//! cluster](scale) with a real API server. Both run the aggregator as a separate process.
#![forbid(unsafe_code)]

mod pod_worker;
pub mod proc;
mod process;
pub mod scale;
pub mod simulation;

pub use process::Kind;

/// A result with an error message for the user of the benchmarks.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
