//! The threads of a command that waits for networks and processes.

use std::io;

use tokio::runtime::{Builder, Runtime};

use crate::error::CliError;

/// As many threads as the machine has processors.
pub(crate) fn runtime() -> Result<Runtime, CliError> {
    started(Runtime::new())
}

/// Only the calling thread: for processes that stay for hours beside others, and for a single question.
pub(crate) fn one_thread() -> Result<Runtime, CliError> {
    started(Builder::new_current_thread().enable_all().build())
}

fn started(runtime: io::Result<Runtime>) -> Result<Runtime, CliError> {
    runtime.map_err(|error| CliError::system("failed to start the threads of this command").because(&error))
}
