//! Runs plugins as processes on this machine: the dispatcher of a local run.
//!
//! As in a cluster, each execution consists of two processes: the plugin's command, and a worker.
//! The worker waits for the done file and sends the results to the aggregator over mutual TLS. Both
//! have the same environment as in a pod.

mod command;
mod dispatcher;
mod ended;
mod execution;
mod output;
mod process;

pub use command::{LocalOptions, SecretValues, StartDirectories};
pub use dispatcher::LocalDispatcher;
pub use execution::directories;
