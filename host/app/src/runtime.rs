//! The threads of a use case that waits for networks and processes.

use std::io;

use tokio::runtime::{Builder, Runtime};

use crate::error::AppError;

/// Starts a runtime with as many threads as the machine has processors.
///
/// # Errors
/// The threads cannot be started.
pub fn runtime() -> Result<Runtime, AppError> {
    started(Runtime::new())
}

/// Starts a runtime on the calling thread alone: for processes that wait for hours, and for single
/// requests.
///
/// # Errors
/// The runtime cannot be started.
pub fn one_thread() -> Result<Runtime, AppError> {
    started(Builder::new_current_thread().enable_all().build())
}

fn started(runtime: io::Result<Runtime>) -> Result<Runtime, AppError> {
    runtime.map_err(|error| AppError::system("failed to start the threads of this command").because(&error))
}
