//! Runs plugins as processes on this machine: the dispatcher of a local run.
//!
//! Each execution is two processes, as in a cluster: the plugin's command, and a worker that waits for the done file and sends the
//! results home over mutual TLS. Both see the environment that they would see in a pod.
#![forbid(unsafe_code)]

mod command;
mod dispatcher;
mod environment;
mod execution;
mod leftovers;
mod machine;
mod output;
mod process;
mod start;

pub use dispatcher::{LocalDispatcher, LocalOptions};
pub use execution::directories;
pub use machine::this_machine;
pub use start::StartDirectories;
