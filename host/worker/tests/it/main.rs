//! A worker with a real TLS aggregator on loopback.
//!
//! It runs in this process if the test controls time, and as a separate process to test signals,
//! environment, exit codes and memory.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod aggregator;
mod config;
mod delivery;
mod directory;
mod done_file;
mod failures;
mod log_progress;
mod memory;
mod partial;
mod process;
mod relay;
mod reporter;
mod shutdown;
mod signals;
mod signs_of_life;
