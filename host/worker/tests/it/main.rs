//! A worker against an aggregator of real TLS on loopback: in this process where times are to be chosen, and as a process of its
//! own where signals, environment, exit codes and memory are the subject.
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
