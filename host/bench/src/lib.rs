//! What the benchmarks measure with, as far as tests use it too: a cluster that is played, with the aggregator as a process of its own.
#![forbid(unsafe_code)]

pub mod proc;
pub mod simulation;

/// An error for whoever runs the benchmarks.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
